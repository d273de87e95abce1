//! One request over HTTP: what a server may answer, and what the person is told when it fails.

use reqwest::{Url, blocking::Client, redirect::Policy};

use crate::cli::prelude::*;

/// The only server that is known to need a key.
pub const DEFAULT_BASE: &str = "https://api.openai.com/v1";
const ENDPOINT: &str = "chat/completions";
const SET: &str = "set OPENAI_BASE_URL or --base-url";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a reply; what is longer is no chat completion.
const LARGEST_REPLY: u64 = 32 << 20;

/// A chat-completions server. It keeps a connection for each agent that asks at the same time.
pub struct Server(Client, Url, Option<String>);

impl Server {
    /// Checks what can be checked without a request. `base` ends where `/chat/completions` begins;
    /// `timeout` is in seconds, for one whole request.
    pub fn new(base: &str, key: &str, timeout: u64) -> Result<Server> {
        let base = base.trim().trim_end_matches('/');
        let base = if base.is_empty() { DEFAULT_BASE } else { base };
        let key = Some(key.trim().to_owned()).filter(|key| !key.is_empty());
        ensure!(key.is_some() || base != DEFAULT_BASE, "no key: set OPENAI_API_KEY, or {SET}");
        ensure!(!base.ends_with(ENDPOINT), "{base} is the whole endpoint: {SET} without that end");
        let url = Url::parse(&format!("{base}/{ENDPOINT}")).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.with_context(|| format!("{base} is no URL of a server: {SET}"))?;
        // The provider is a choice of the whole process; a second one changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT);
        let client = client.timeout(Duration::from_secs(timeout));
        // Reading the system's certificates is most of what a client costs.
        let client = if url.scheme() == "http" { client.tls_certs_only([]) } else { client };
        Ok(Server(client.build()?, url, key))
    }

    /// Sends a request and gives the body of a successful response.
    pub fn post(&self, body: &str) -> Result<Value> {
        let Server(client, url, key) = self;
        let request = client.post(url.clone()).header("content-type", "application/json");
        let request = if let Some(key) = key { request.bearer_auth(key) } else { request };
        let response = request.body(body.to_owned()).send().map_err(reqwest::Error::without_url);
        let response = response
            .with_context(|| format!("no answer from {url} (is it running? --timeout?)"))?;
        let (status, target) = (response.status(), response.headers().get("location").cloned());
        let mut bytes = Vec::new();
        let read = response.take(LARGEST_REPLY).read_to_end(&mut bytes);
        read.with_context(|| format!("the answer of {url} broke off"))?;
        let json = serde_json::from_slice::<Value>(&bytes);
        let words = json.as_ref().ok().and_then(words);
        let words = words.unwrap_or_else(|| excerpt(&String::from_utf8_lossy(&bytes)));
        let help = match (json, status.as_u16()) {
            (Ok(json), 200..=299) if json["error"].is_null() => return Ok(json),
            (Err(_), 200..=299) => format!("this was not JSON; {SET}, often ending in /v1"),
            (_, 300..=399) => format!("{SET}; it points to {:?}", target.as_slice()),
            (_, 401 | 403) => "check OPENAI_API_KEY".to_owned(),
            (_, 404 | 405) => format!("{SET}, often ending in /v1, or --model"),
            _ => bail!("{url} answered {status}: {words}"),
        };
        bail!("{url} answered {status}: {words} ({help})")
    }
}

/// What the server itself says is wrong: every one has its own place for it.
fn words(body: &Value) -> Option<String> {
    let places = ["/error/message", "/0/error/message", "/error", "/message", "/detail"];
    places.iter().find_map(|place| body.pointer(place)?.as_str()).map(excerpt)
}
