//! What stands between the program and the person: options, progress, the report at the end.

pub mod args;
pub mod clock;
pub mod console;
pub mod picture;
pub mod prelude;
pub mod report;
pub mod signals;
