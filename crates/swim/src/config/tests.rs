use super::*;

#[test]
fn presets_pass_their_own_check() {
    assert_eq!(Config::lan().check(), Ok(()));
    assert_eq!(Config::wan().check(), Ok(()));
}

#[test]
fn presets_have_the_times_of_the_rules() {
    let times = |c: &Config| {
        [c.probe.period, c.probe.timeout, c.gossip.interval, c.sync_interval, c.contact.retry_min]
            .map(|time| time.as_millis())
    };
    assert_eq!(times(&Config::lan()), [1_000, 500, 200, 30_000, 1_000]);
    assert_eq!(times(&Config::wan()), [5_000, 3_000, 500, 60_000, 5_000]);
    for (config, fanout) in [(Config::lan(), 3), (Config::wan(), 4)] {
        let Config { probe, suspicion, gossip, contact, .. } = &config;
        assert_eq!((suspicion.alpha.get(), suspicion.beta.get(), probe.helpers.get()), (3, 6, 3));
        let sends = [gossip.fanout, gossip.lambda, gossip.transmissions_min].map(NonZeroU8::get);
        assert_eq!(sends, [fanout, 4, 12]);
        assert_eq!((gossip.datagram_bytes_max, gossip.worker_bytes_max), (1400, 600));
        let late = [contact.retry_max, contact.warn_after, config.dead_ttl, config.leave_grace];
        assert_eq!(late.map(|time| time.as_secs()), [60, 60, 3_600, 3]);
        assert_eq!((contact.spread.as_millis(), config.lag_tick.as_millis()), (20, 200));
    }
}

#[test]
fn broken_rungs_are_refused_with_the_rule() {
    type Break = fn(&mut Config);
    let table: [(Break, &str); 9] = [
        (
            |c| c.probe.timeout = Duration::from_millis(800),
            "probe.timeout must be at most three quarters of probe.period",
        ),
        (|c| c.gossip.interval = Duration::from_secs(2), "gossip.interval must be at most probe.period"),
        (|c| c.sync_interval = Duration::from_secs(1), "two probe periods must be at most sync_interval"),
        (|c| c.dead_ttl = Duration::from_secs(11), "the longest suspicion must be below dead_ttl"),
        (|c| c.gossip.datagram_bytes_max = 9000, "gossip.datagram_bytes_max must be between 512 and 1400"),
        (
            |c| c.gossip.worker_bytes_max = 701,
            "gossip.worker_bytes_max must be at most half of gossip.datagram_bytes_max",
        ),
        (|c| c.limits.members = 1, "limits.members must be between 2 and 16384"),
        (
            |c| c.contact.retry_min = Duration::from_mins(2),
            "contact.retry_min must be at most contact.retry_max",
        ),
        (
            |c| {
                c.contact.retry_min = c.contact.retry_max;
                c.contact.warn_after = Duration::from_secs(59);
            },
            "contact.retry_min must be at most contact.warn_after",
        ),
    ];
    for (spoil, message) in table {
        let mut config = Config::lan();
        spoil(&mut config);
        assert_eq!(config.check().unwrap_err().to_string(), message);
    }
}

#[test]
fn values_out_of_range_are_refused_at_both_ends() {
    type Set = fn(&mut Config, Duration);
    let table: [(Set, Duration, &str); 3] = [
        (
            |c, value| c.contact.retry_max = value,
            Duration::ZERO,
            "contact.retry_max must be between 10ms and 1d",
        ),
        (
            |c, value| c.contact.warn_after = value,
            Duration::ZERO,
            "contact.warn_after must be between 1s and 1d",
        ),
        (
            |c, value| c.contact.spread = value,
            Duration::from_secs(2),
            "contact.spread must be between 0s and 1s",
        ),
    ];
    for (set, outside, message) in table {
        for value in [outside, Duration::MAX] {
            let mut config = Config::lan();
            set(&mut config, value);
            assert_eq!(config.check().unwrap_err().to_string(), message);
        }
    }
    let limits = Config::lan().limits;
    for (workers, audit) in [(0, 1), (WORKERS_MAX + 1, 1), (1, 0), (1, AUDIT_MAX + 1)] {
        let limits = Limits { workers, audit, ..limits.clone() };
        let error = Config { limits, ..Config::lan() }.check().unwrap_err().to_string();
        let name = if audit == 1 { "limits.workers" } else { "limits.audit" };
        assert!(error.starts_with(name), "{error}");
    }
}

#[test]
fn updates_that_may_wait_are_4096_and_500_unless_fewer_are_allowed() {
    type Set = fn(&mut Limits, usize);
    let table: [(Set, usize, &str); 2] = [
        (|limits, value| limits.member_updates = value, 4096, "limits.member_updates"),
        (|limits, value| limits.worker_updates = value, 500, "limits.worker_updates"),
    ];
    assert_eq!(Config::lan().updates_max(), (4096, 500));
    assert_eq!(Config::wan().updates_max(), (4096, 500));
    for (set, most, name) in table {
        for (value, is_fine) in [(0, false), (1, true), (most, true), (most + 1, false)] {
            let mut config = Config::lan();
            set(&mut config.limits, value);
            let refused = config.check().err().map(|error| error.to_string());
            assert_eq!(refused.is_none(), is_fine, "{name} = {value}");
            assert!(refused.is_none_or(|error| error.starts_with(name)));
        }
    }
}

#[test]
fn greatest_values_are_refused_and_do_not_overflow() {
    let spoil: [fn(&mut Config); 8] = [
        |c| c.probe.period = Duration::MAX,
        |c| c.probe.timeout = Duration::MAX,
        |c| c.gossip.interval = Duration::MAX,
        |c| c.gossip.worker_bytes_max = usize::MAX,
        |c| c.contact.retry_min = Duration::MAX,
        |c| c.sync_interval = Duration::MAX,
        |c| c.dead_ttl = Duration::MAX,
        |c| c.leave_grace = Duration::MAX,
    ];
    for spoil in spoil {
        let mut config = Config::lan();
        spoil(&mut config);
        assert!(config.check().is_err(), "{config:?}");
    }
}

#[test]
fn transmissions_follow_the_digits_of_the_cluster_size() {
    let gossip = Config::lan().gossip;
    let table = [(1, 12), (9, 12), (100, 12), (999, 12), (1000, 16), (9_999, 16), (10_000, 20)];
    for (members, times) in table {
        assert_eq!(gossip.transmissions(members), times, "{members}");
    }
}
