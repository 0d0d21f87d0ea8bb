//! Plans as files: good ones give the model they mean, wrong ones the problems they have.

mod command_line;
mod common;
mod good;
mod hostile;
mod schema;
mod wrong;
