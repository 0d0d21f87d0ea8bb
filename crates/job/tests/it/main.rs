//! Behaviour of the job core: what it proposes, and what follows when that is applied or refused.

mod cancel;
mod cores;
mod life;
mod mixes;
mod model;
mod rebuild;
mod refused;
mod restarts;
mod retries;
mod steering;
mod timeouts;
