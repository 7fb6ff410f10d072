//! Traces of queries for a collector of OpenTelemetry, where the settings name one and the program was built with them.

use super::Exit;
use database::{Database, Error};
use server::configuration::Configuration;
#[cfg(feature = "telemetry")]
use server::telemetry::{Telemetry, TelemetryOptions};
use server::trace_counts::TraceCounts;
use std::sync::Arc;

/// Where a collector is named.
const ENDPOINT: &str = "traces.endpoint";

/// Traces on their way, if there are any; the last are sent when it is dropped.
pub struct Traces {
    #[cfg(feature = "telemetry")]
    telemetry: Option<Telemetry>,
}

impl Traces {
    /// Looks whether they could be sent as the settings say.
    ///
    /// # Errors
    /// The collector's address is none; the program was built without traces.
    #[cfg(feature = "telemetry")]
    pub fn check(settings: &Configuration) -> Result<(), Exit> {
        settings.text(ENDPOINT).map_or(Ok(()), |endpoint| Telemetry::check(endpoint).map_err(refused))
    }
    /// Without telemetry only nothing can be asked for.
    #[cfg(not(feature = "telemetry"))]
    pub fn check(settings: &Configuration) -> Result<(), Exit> {
        Traces::start(settings, &[]).map(drop)
    }
    /// Has these databases tell what their queries did, where the settings ask for that.
    #[cfg(feature = "telemetry")]
    pub fn start(settings: &Configuration, databases: &[&Database]) -> Result<Traces, Exit> {
        let Some(endpoint) = settings.text(ENDPOINT) else { return Ok(Traces { telemetry: None }) };
        let service = settings.text("traces.service").unwrap_or_default().to_string();
        let queue = settings.count("traces.queue").unwrap_or(1) as usize;
        let options = TelemetryOptions { endpoint: endpoint.to_string(), service, queue };
        let telemetry = Telemetry::start(options).map_err(refused)?;
        let every = settings.count("traces.every").unwrap_or(1);
        for database in databases {
            database.on_query_trace(every, telemetry.listener());
        }
        Ok(Traces { telemetry: Some(telemetry) })
    }
    /// Without telemetry only nothing can be asked for.
    #[cfg(not(feature = "telemetry"))]
    pub fn start(settings: &Configuration, _: &[&Database]) -> Result<Traces, Exit> {
        match settings.text(ENDPOINT) {
            None => Ok(Traces {}),
            Some(_) => Err(failed("this program was built without traces")
                .hint("build it with the feature `telemetry`")
                .into()),
        }
    }
    /// What became of them.
    pub fn counts(&self) -> Option<Arc<TraceCounts>> {
        #[cfg(feature = "telemetry")]
        return self.telemetry.as_ref().map(|telemetry| telemetry.counts().clone());
        #[cfg(not(feature = "telemetry"))]
        return None;
    }
}

#[cfg(feature = "telemetry")]
fn refused(why: String) -> Exit {
    let (message, hint) = why.split_once("\nhint: ").unwrap_or((&why, ""));
    failed(message).hint(hint).into()
}

fn failed(message: &str) -> Error {
    Error::new("Tanglewood.ClientError.Serve.Traces", message)
}
