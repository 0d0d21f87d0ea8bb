use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn network(weather: Weather) -> Network {
    let mut network = Network::new(7, weather);
    for node in 0..4 {
        network.connect(u8::from(node == 3), None);
    }
    network
}

fn arrivals(network: &mut Network, count: usize) -> Vec<[Option<Moment>; 2]> {
    (0..count).map(|at| network.datagram(Moment(at as u64 * 1_000_000), 0, 1, 100)).collect()
}

#[test]
fn fair_weather_delivers_everything_once_and_soon() {
    for [first, second] in arrivals(&mut network(Weather::fair()), 1000) {
        assert!(first.is_some() && second.is_none());
    }
}

#[test]
fn loss_and_duplication_happen_as_often_as_asked() {
    let mut network = network(Weather { loss: 0.2, duplicate: 0.1, ..Weather::fair() });
    let all = arrivals(&mut network, 10_000);
    let lost = all.iter().filter(|[first, _]| first.is_none()).count();
    let doubled = all.iter().filter(|[_, second]| second.is_some()).count();
    assert!((1800..2200).contains(&lost), "{lost}");
    assert!((700..900).contains(&doubled), "{doubled}");
}

#[test]
fn reordering_lets_later_datagrams_overtake() {
    let mut network = network(Weather { reorder: 0.2, ..Weather::fair() });
    let times: Vec<Moment> =
        arrivals(&mut network, 1000).into_iter().filter_map(|[first, _]| first).collect();
    assert!(times.windows(2).any(|pair| pair[1] < pair[0]));
}

#[test]
fn streams_keep_their_order_under_loss() {
    let mut network = network(Weather { loss: 0.3, reorder: 0.3, ..Weather::fair() });
    let times: Vec<Moment> = (0..1000)
        .filter_map(|at| network.stream(Moment(at * 1_000_000), Connection::Control, 0, 1, 100))
        .collect();
    assert!(times.len() > 950, "lost segments are repeated: {}", times.len());
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn hang_up_is_seen_by_those_with_an_open_connection_after_what_was_said() {
    let mut network = network(Weather { loss: 0.1, reorder: 0.3, ..Weather::fair() });
    let said = network.stream(Moment(0), Connection::Control, 0, 1, 100).unwrap();
    network.stream(Moment(0), Connection::Bulk, 3, 0, 100).unwrap();
    network.stream(Moment(0), Connection::Control, 1, 2, 100).unwrap();
    let seen = network.hang_up(Moment(1), 0);
    assert_eq!(seen.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [1, 3]);
    assert!(seen[0].1 > said);
    assert_eq!(network.hang_up(Moment(1), 0), [], "nothing is open any more");
    let idle = Moment::ZERO.plus(CONNECTION_IDLE * 2);
    assert_eq!(network.hang_up(idle, 1), [], "long closed");
}

#[test]
fn hang_up_does_not_cross_a_cut() {
    let mut network = network(Weather::fair());
    network.stream(Moment(0), Connection::Control, 0, 1, 100).unwrap();
    network.cut(1, Partition::one_way(&[0], &[1], 4));
    assert_eq!(network.hang_up(Moment(1), 0), []);
}

#[test]
fn one_way_cut_blocks_datagrams_one_way_and_streams_both_ways() {
    let mut network = network(Weather::fair());
    network.cut(1, Partition::one_way(&[0], &[1], 4));
    assert!(network.datagram(Moment(0), 0, 1, 10)[0].is_none());
    assert!(network.datagram(Moment(0), 1, 0, 10)[0].is_some());
    assert!(network.stream(Moment(0), Connection::Control, 1, 0, 10).is_none());
    network.mend(1);
    assert!(network.is_whole() && network.stream(Moment(0), Connection::Control, 1, 0, 10).is_some());
}

#[test]
fn replacement_is_on_the_side_of_the_one_it_replaces() {
    let mut network = network(Weather::fair());
    network.cut(1, Partition::between(&[0, 1], &[2, 3], 4));
    network.connect(0, Some(2));
    network.connect(0, Some(4));
    network.connect(0, None);
    let reaches = |from, to| network.reaches(Moment(0), from, to);
    assert!(!reaches(5, 0) && !reaches(1, 5) && reaches(5, 3));
    assert!(reaches(6, 0) && reaches(6, 5), "a newcomer is on no side");
    assert_eq!([0, 2, 4, 5, 6].map(|node| network.present(node)), [0, 5, 5, 5, 6]);
}

#[test]
fn spikes_delay_and_pass() {
    let mut network = network(Weather::fair());
    network.spike(Moment::seconds(1), 5 * SECOND);
    let slow = (0..50).filter_map(|_| network.datagram(Moment(0), 0, 1, 10)[0]).max().unwrap();
    assert!(slow > Moment::seconds(3));
    let later = network.datagram(Moment::seconds(1), 0, 1, 10)[0].unwrap();
    assert!(later < Moment::seconds(1).plus(SECOND / 10));
}

#[test]
fn other_sites_are_far_away() {
    let mut network = network(Weather::fair());
    assert!(network.datagram(Moment(0), 0, 3, 10)[0].unwrap() >= Moment(0).plus(SITE_DELAY));
}

#[test]
fn narrow_line_delays_streams_and_drops_datagrams() {
    let mut network = network(Weather { bytes_per_second: Some(10_000), ..Weather::fair() });
    let times: Vec<_> =
        (0..10).filter_map(|_| network.stream(Moment(0), Connection::Control, 0, 1, 1000)).collect();
    assert!(times[9] >= Moment::seconds(1));
    let sent = (0..100).filter(|_| network.datagram(Moment(0), 1, 2, 1000)[0].is_some()).count();
    assert!(sent < 20, "{sent}");
}
