//! Requests over HTTP: what a server may answer, when to ask again, what the person is told.

use std::{borrow::Cow, collections::hash_map::RandomState, hash::BuildHasher};

use jiff::Timestamp;
use regex::Regex;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{StatusCode, Url, blocking::Client, redirect::Policy};

use crate::cli::prelude::*;

/// The only server that is known to need a key.
pub const DEFAULT_BASE: &str = "https://api.openai.com/v1";
const ENDPOINT: &str = "chat/completions";
const SET: &str = "set OPENAI_BASE_URL or --base-url";
const OFTEN: &str = "often ending in /v1";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a reply; what is longer is no chat completion.
const LARGEST_REPLY: u64 = 32 << 20;
/// Waits before a request that failed is made again, in seconds; a server may ask for longer ones.
const WAITS: [f64; 3] = [0.5, 2.0, 6.0];
const LONGEST_WAIT: f64 = 60.0;
/// In the body of an error that passes, and of one that does not.
const PASSING: &str =
    "tool_use_failed \"rate_limit \"overloaded \"UNAVAILABLE \"RESOURCE_EXHAUSTED";
const NO_MONEY: &str = "insufficient_quota";
/// What a message and a call in it always have; a server cannot refuse these.
const USUAL: [&str; 7] =
    ["role", "content", "tool_calls", "tool_call_id", "id", "type", "function"];

/// A chat-completions server. It keeps a connection for each agent that asks at the same time.
pub struct Server {
    client: Client,
    url: Url,
    /// The same without a password, for everybody to see.
    shown: Url,
    key: Option<String>,
    timeout: Duration,
    /// Fields of messages that this server refuses, although they came from it.
    refused: Mutex<Vec<String>>,
}

/// Why a request failed, the server's own words last; and the seconds to wait at least, if another
/// one may do better.
type Failure = (Error, Option<f64>);

impl Server {
    /// Checks what can be checked without a request. `base` ends where `/chat/completions` begins;
    /// `timeout` is in seconds, for one whole request.
    pub fn new(base: &str, key: &str, timeout: u64) -> Result<&'static Server> {
        let base = base.trim().trim_end_matches('/');
        let base = if base.is_empty() { DEFAULT_BASE } else { base };
        let key = Some(key.trim().to_owned()).filter(|key| !key.is_empty());
        ensure!(key.is_some() || base != DEFAULT_BASE, "no key: set OPENAI_API_KEY, or {SET}");
        let shown = public(base);
        ensure!(!base.ends_with(ENDPOINT), "{shown} is the whole endpoint: {SET} without that end");
        let sendable = key.iter().all(|key| key.is_ascii() && HeaderValue::from_str(key).is_ok());
        ensure!(sendable, "OPENAI_API_KEY has a line end or another character that no key has");
        let url = Url::parse(base).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let mut url = url.with_context(|| format!("{shown} is no http(s):// URL: {SET}"))?;
        // The provider is a choice of the whole process; a second one changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT);
        // Reading the system's certificates is most of what a client costs.
        let client = if url.scheme() == "http" { client.tls_certs_only([]) } else { client };
        // Else a `*` would not count for addresses in numbers.
        let direct = env::var("NO_PROXY").or(env::var("no_proxy")).is_ok_and(|hosts| hosts == "*");
        let client = if direct { client.no_proxy() } else { client };
        let (client, timeout) = (client.timeout(None).build()?, Duration::from_secs(timeout));
        url.set_path(&format!("{}/{ENDPOINT}", url.path().trim_end_matches('/')));
        let mut shown = url.clone();
        shown.set_query(None);
        let _ = (shown.set_username(""), shown.set_password(None));
        // A user and password are for a server without a key: it takes one of the two.
        if key.is_some() {
            let _ = (url.set_username(""), url.set_password(None));
        }
        // Kept to the end of the process: to take the client apart is to wait for its thread.
        let server = Server { client, url, shown, key, timeout, refused: Mutex::default() };
        Ok(Box::leak(server.into()))
    }

    /// Sends a request, again if that may help, and gives the body of a successful response. `say`
    /// tells of each wait.
    pub fn post(&self, body: &str, say: &dyn Fn(&str)) -> Result<Value> {
        let (mut waits, mut sent) = (WAITS.into_iter(), self.acceptable(body, ""));
        loop {
            let (why, wait) = match self.once(&sent) {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let complaint = if wait.is_none() { format!("{why:#}") } else { String::new() };
            let less = self.acceptable(body, &complaint);
            if less != sent {
                let refused = self.refused.lock().expect("no thread panics").join(", ");
                say(&format!("asks again without fields that the server refuses: {refused}"));
                sent = less;
                continue;
            }
            let (Some(asked), Some(usual)) = (wait, waits.next()) else { return Err(why) };
            ensure!(asked <= LONGEST_WAIT, "{why:#}; it asks to wait {asked} seconds");
            // Agents that were refused together must not come back together.
            let spread = RandomState::new().hash_one(0) % 256;
            let wait = Duration::from_secs_f64(usual.max(asked)) * (1024 + spread as u32) / 1024;
            say(&format!("waits {:.1} s: {why}", wait.as_secs_f64()));
            thread::sleep(wait);
        }
    }

    /// The body without the fields of messages and calls that the server refuses, or complains of.
    fn acceptable<'a>(&self, body: &'a str, complaint: &str) -> Cow<'a, str> {
        let mut refused = self.refused.lock().expect("no thread panics");
        if refused.is_empty() && complaint.is_empty() {
            return body.into();
        }
        let mut json: Value = from_str(body).unwrap_or_default();
        let named = complaint.split(|char: char| !char.is_alphanumeric() && char != '_');
        let mut keep = |key: &String, _: &mut Value| {
            if !USUAL.contains(&&**key) && named.clone().any(|word| word == key) {
                refused.push(key.clone());
            }
            !refused.contains(key)
        };
        for message in json["messages"].as_array_mut().into_iter().flatten() {
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            for call in calls.into_iter().flatten() {
                call.as_object_mut().into_iter().for_each(|call| call.retain(&mut keep));
            }
            message.as_object_mut().into_iter().for_each(|message| message.retain(&mut keep));
        }
        json.to_string().into()
    }

    /// One request and what came of it.
    fn once(&self, body: &str) -> Result<Value, Failure> {
        let (status, headers, bytes) = self.fetch(body).map_err(|why| {
            let late = |cause: &reqwest::Error| cause.is_timeout() && !cause.is_connect();
            let late = why.chain().filter_map(|cause| cause.downcast_ref()).any(late);
            (why, (!late).then_some(0.0))
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let json = from_str(&text).or_else(|_| from_str(&whole_characters(&text)));
        let cut = json.as_ref().is_err_and(serde_json::Error::is_eof);
        let cut = cut && status.is_success() && (bytes.len() as u64) < LARGEST_REPLY;
        let (is_json, json) = (json.is_ok(), json.unwrap_or(Value::Null));
        // Some servers say 200 and put an error with the real status into the body.
        let places = ["/error", "/0/error", "/choices/0/error"].map(|place| json.pointer(place));
        let error = places.into_iter().flatten().find(|error| !error.is_null());
        let error = error.unwrap_or(&Value::Null);
        let code = error["code"].as_str().and_then(|code| code.parse().ok());
        let code = code.or(error["code"].as_u64()).filter(|_| status.is_success());
        let code = code.unwrap_or(status.as_u16().into());
        let header = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let header = |name| header(name).unwrap_or_default();
        let help = match code {
            200..=299 if is_json && error.is_null() => return Ok(json),
            200..=299 if !is_json => format!("; not JSON of at most 32 MiB: {SET}, {OFTEN}"),
            300..=399 => format!("; {SET}: it points to {}", public(header("location"))),
            400 if text.contains("model") => "; is --model right?".to_owned(),
            401 | 403 => "; check OPENAI_API_KEY".to_owned(),
            404 | 405 => format!("; {SET}, {OFTEN}, or --model"),
            _ => String::new(),
        };
        let passes = cut || matches!(code, 408 | 409 | 429 | 500..=599);
        let passes = passes || PASSING.split(' ').any(|word| text.contains(word));
        let wait = (passes && !text.contains(NO_MONEY)).then(|| seconds(header("retry-after")));
        // What the server itself says is wrong: every one has its own place for it.
        let places = [&error["message"], error, &json["message"], &json["detail"]];
        let words = places.into_iter().find_map(Value::as_str).unwrap_or(&text);
        let words = if words.trim().is_empty() { "(no words)" } else { &*excerpt(words) };
        let why = anyhow!("{words}{help}").context(format!("{} answered {status}", self.shown));
        Err((why, wait))
    }

    fn fetch(&self, body: &str) -> Result<(StatusCode, HeaderMap, Vec<u8>)> {
        let Server { client, url, shown, key, timeout, .. } = self;
        let request = client.post(url.clone()).header("content-type", "application/json");
        let request = if let Some(key) = key { request.bearer_auth(key) } else { request };
        let response = request.timeout(*timeout).body(body.to_owned()).send();
        let response = response.map_err(reqwest::Error::without_url);
        let response = response
            .with_context(|| format!("no answer from {shown} (is it running? --timeout?)"))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut bytes = Vec::new();
        let read = response.take(LARGEST_REPLY).read_to_end(&mut bytes);
        read.with_context(|| format!("the answer of {shown} broke off (--timeout?)"))?;
        Ok((status, headers, bytes))
    }
}

/// Seconds that a server asks to wait: as such, or up to a date; 0 if it asks for neither.
fn seconds(text: &str) -> f64 {
    let date = || jiff::fmt::rfc2822::parse(text).ok();
    let until = || Some(date()?.timestamp().duration_since(Timestamp::now()).as_secs_f64());
    let seconds: Option<f64> = text.parse().ok().or_else(until);
    seconds.filter(|seconds| seconds.is_finite()).unwrap_or_default()
}

/// JSON without the halves of characters that a model leaves behind when it is cut off in the middle
/// of one. Whole ones that are written as two halves go with them; a backslash that is meant stays.
fn whole_characters(json: &str) -> Cow<'_, str> {
    let halves = Regex::new(r"(\\\\)|\\u[dD][89a-fA-F]..").expect("it is a pattern");
    halves.replace_all(json, "$1")
}

/// A URL from behind its user and password.
fn public(url: &str) -> &str {
    url.rsplit('@').next().unwrap_or(url)
}
