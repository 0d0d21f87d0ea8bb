//! Clusters of cores on a virtual network: do they converge, detect, refute and stay quiet?

mod detection;
mod managers;
mod membership;
mod net;
mod quiet;
