//! The rules that every store must hold. Each case runs on both.

pub(crate) mod effects;
pub(crate) mod leaders;
pub(crate) mod leases;
mod nodes;
mod requests;
pub(crate) mod schedules;
pub(crate) mod sweeps;
pub(crate) mod trees;

/// Makes a test of every case on SQLite, and one function that runs all of them on a PostgreSQL server.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::support::World::sqlite().await).await;
            })+
        }

        pub(crate) async fn all_on(server: &crate::server::Server) {
            $(
                println!("{}", stringify!($name));
                $name(crate::support::World::postgres(server).await).await;
            )+
        }
    };
}
pub(crate) use cases;

/// One server for all cases, each in a schema of its own. The last name that is printed is the case that failed.
#[tokio::test]
async fn postgres_holds_every_rule() {
    let server = crate::server::Server::start().await;
    leases::all_on(&server).await;
    sweeps::all_on(&server).await;
    leaders::all_on(&server).await;
    trees::all_on(&server).await;
    schedules::all_on(&server).await;
    effects::all_on(&server).await;
    nodes::all_on(&server).await;
    requests::all_on(&server).await;
}
