//! What clients may cost, as flags.

use crate::commands::units;
use clap::Args;
use server::Limits;
use server::limits::share;
use std::time::Duration;

/// Limits of both doors together; the defaults are [`Limits::default`].
#[derive(Args)]
#[command(next_help_heading = "What clients may cost")]
pub struct Costs {
    /// Connections served at once; each has a thread
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_max)]
    connections_max: usize,
    /// Of these, connections of one address; if not said: three quarters
    #[arg(long, value_name = "N")]
    connections_per_address_max: Option<usize>,
    /// Of these, connections of one user; if not said: three quarters
    #[arg(long, value_name = "N")]
    connections_per_user_max: Option<usize>,
    /// Connections that have not logged on yet; one address may have half of them
    #[arg(long, value_name = "N", default_value_t = Limits::default().strangers_max)]
    strangers_max: usize,
    /// Time from connecting until the client has logged on
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = units::duration)]
    logon_timeout: Duration,
    /// Silence within a message; a whole message may take as long, and a second more for each 16 KiB
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::duration)]
    message_timeout: Duration,
    /// Silence while a transaction or a result is open
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = units::duration)]
    open_timeout: Duration,
    /// Silence while nothing is open
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = units::duration)]
    idle_timeout: Duration,
    /// Size of one message of a client
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = units::bytes)]
    message_max: u64,
    /// Size of all messages that are not whole or not unpacked; one address may have three quarters of it
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = units::bytes)]
    unfinished_max: u64,
}

impl Costs {
    pub fn limits(&self) -> Limits {
        let (places, unfinished) =
            (Limits::of_connections(self.connections_max), self.unfinished_max as usize);
        Limits {
            connections_per_address_max: self
                .connections_per_address_max
                .unwrap_or(places.connections_per_address_max),
            connections_per_user_max: self
                .connections_per_user_max
                .unwrap_or(places.connections_per_user_max),
            strangers_max: self.strangers_max,
            strangers_per_address_max: self.strangers_max.div_ceil(2),
            greeting_timeout: self.logon_timeout,
            message_timeout: self.message_timeout,
            neglect_timeout: self.open_timeout,
            idle_timeout: self.idle_timeout,
            message_bytes_max: self.message_max as usize,
            incoming_bytes_max: unfinished,
            incoming_bytes_per_address_max: share(unfinished),
            ..places
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        costs: Costs,
    }

    #[test]
    fn flags_that_are_not_given_mean_the_defaults() {
        let limits = |words: &[&str]| Alone::try_parse_from([&["x"], words].concat()).unwrap().costs.limits();
        assert_eq!(format!("{:?}", limits(&[])), format!("{:?}", Limits::default()));
        let few = limits(&["--connections-max", "8", "--strangers-max", "3", "--unfinished-max", "4MiB"]);
        assert_eq!((few.connections_per_address_max, few.strangers_per_address_max), (6, 2));
        assert_eq!(few.incoming_bytes_per_address_max, 3 << 20);
        assert_eq!(limits(&["--connections-max", "1"]).connections_per_address_max, 1);
    }
}
