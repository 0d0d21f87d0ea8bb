//! Plans as files: good ones give the model they mean, wrong ones the problems they have.

mod common;
mod good;
