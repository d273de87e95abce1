//! The local time, without a walk through the database of all time zones, which takes longer than
//! the rest of the start.

use jiff::{Timestamp, ZonedDateTime, tz::TimeZone};

use crate::cli::prelude::*;

/// The time where the person is.
pub fn now() -> ZonedDateTime {
    let system = || TimeZone::tzif("local", &fs::read("/etc/localtime").ok()?).ok();
    let zone = if env::var_os("TZ").is_none() { system() } else { None };
    zone.map_or_else(ZonedDateTime::now, |zone| Timestamp::now().to_zoned_datetime(zone))
}
