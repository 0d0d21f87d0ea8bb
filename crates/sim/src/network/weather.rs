//! How the network is as a whole.

use std::time::Duration;

/// Rates and delays of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Weather {
    /// Share of datagrams lost, and of segments of a stream that have to be sent again.
    pub loss: f64,
    /// Share of datagrams that arrive twice.
    pub duplicate: f64,
    /// Share of datagrams that are held up for long, so that later ones overtake them.
    pub reorder: f64,
    /// Median of the one-way delay.
    pub delay: Duration,
    /// Spread of the delay's logarithm.
    pub delay_sigma: f64,
    /// Bandwidth of each node's line out; unlimited without.
    pub bytes_per_second: Option<u64>,
}

impl Weather {
    /// A quiet local network.
    pub fn fair() -> Self {
        Self {
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            delay: Duration::from_micros(500),
            delay_sigma: 0.4,
            bytes_per_second: None,
        }
    }

    /// The same with some loss.
    pub fn lossy(loss: f64) -> Self {
        Self { loss, ..Self::fair() }
    }
}
