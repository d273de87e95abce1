//! The names that need no explaining: of std, of the crates for errors, files and JSON, and our
//! own. What is special to one room, that room imports itself.

pub use std::collections::{BTreeMap, HashSet};
pub use std::io::{BufRead, BufReader, Read, Write};
pub use std::path::{Path, PathBuf, absolute};
pub use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
pub use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
pub use std::{env, iter, mem, thread, time::Duration, time::Instant};

pub use anyhow::{Context, Error, Result, anyhow, bail, ensure};
pub use fs_err::{self as fs, File};
pub use serde::{Deserialize, Serialize, de::DeserializeOwned};
pub use serde_json::{Map, Value, from_str, json};

pub use crate::cli::{args::Args, clock, console, console::say, console::tell, report};
pub use crate::model::{Body, Call, Model, Reply, message};
pub use crate::tools::{self, clip::*, files::Files, paths::*, schema::Definition};
pub use crate::{agent::Agent, agent::End, agent::Outcome, roles::Role, roles::Roles};
