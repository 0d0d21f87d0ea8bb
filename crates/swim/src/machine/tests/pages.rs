//! Rules about lists that come in pages: only the last page completes a list.

use super::*;

fn joining() -> Rig {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig
}

fn members(numbers: &[u64], last: bool) -> StreamBody {
    let members = numbers.iter().map(|number| update(*number, 0, Status::Alive, *number)).collect();
    StreamBody::Members { members, last }
}

fn workers(last: bool) -> StreamBody {
    StreamBody::WorkerList { workers: Vec::new(), last }
}

#[test]
fn first_page_of_a_member_list_does_not_count_as_joined() {
    let mut rig = joining();
    let actions = rig.stream(2, members(&[2, 3], false));
    assert!(!rig.swim.is_joined());
    assert!(streams(&actions).is_empty(), "workers are asked for once all managers are known");
    let actions = rig.stream(2, members(&[4], true));
    assert!(rig.swim.is_joined());
    let asked: BTreeSet<_> = streams(&actions).into_iter().filter_map(|(to, _)| to.node).collect();
    assert_eq!(asked, [2, 3, 4].map(node).into());
}

#[test]
fn first_page_of_a_worker_list_does_not_make_a_manager_active() {
    let mut rig = joining();
    rig.stream(2, members(&[2, 3], true));
    rig.stream(3, workers(true));
    for _ in 0..2 {
        let actions = rig.stream(2, workers(false));
        assert!(!events(&actions).contains(&Event::WorkersSynced));
        assert!(!rig.swim.workers_synced());
    }
    let actions = rig.stream(2, workers(true));
    assert!(events(&actions).contains(&Event::WorkersSynced));
}
