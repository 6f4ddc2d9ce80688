//! A server that is away when something happens to its users is told of it when it is back.

use super::asking::Asking;
use super::backend::block_on;
use super::site::{Site, engine_on, patiently};
use super::talk::*;
use super::tiered::{Engine, Hot, TieredBackend};
use crate::servers::proxy::Proxy;
use crate::servers::redis::command_at;
use im_domain::global::ChangeKind;
use im_domain::partition::partition_of;
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_store::arguments;
use im_store::redis::Value;
use im_store::tiered::HotDurability::Everysec;
use im_store::tiered::rebalance::place_of;

const SERVERS: usize = 3;

/// Redis servers behind ways that can be cut.
struct Ways {
    site: Site,
    proxies: Vec<Proxy>,
    store: Engine,
}

impl Ways {
    fn new() -> Self {
        let site = Site::new(SERVERS, 1);
        let to = |url: &String| Proxy::to(url.rsplit(':').next().unwrap().parse().unwrap());
        let proxies: Vec<Proxy> = site.redis_urls().iter().map(to).collect();
        let urls: Vec<String> =
            proxies.iter().map(|proxy| format!("redis://127.0.0.1:{}", proxy.port())).collect();
        let store = engine_on(&urls, &site.postgres_urls(), Everysec);
        Self { site, proxies, store }
    }

    /// The server that has a user's index, which is there.
    fn index_of(&self, user: &str) -> usize {
        let keys = arguments![format!("im:{{*}}:u:acme/{user}")];
        let has = |url: &String| !command_at(url, "KEYS", keys.clone()).unwrap().is_empty();
        self.site.redis_urls().iter().position(has).unwrap()
    }

    /// Runs the upkeep as often as it takes; a server that is away keeps nothing from the others.
    fn run(&self) {
        for _ in 0..3 {
            let _is_away = block_on(self.store.run(&[Task::Drain], 10_000));
        }
    }

    fn untold(&self) -> i64 {
        let count = |url: &String| match command_at(url, "SCARD", arguments!["im:untold"]).unwrap()[..] {
            [Value::Integer(count)] => count,
            ref other => panic!("{other:?}"),
        };
        self.site.redis_urls().iter().map(count).sum()
    }
}

/// Conversations on other servers than one.
fn elsewhere(away: usize) -> [String; 2] {
    let is_elsewhere = |name: &String| place_of(partition_of(&actor("a").tenant, &id(name)), SERVERS) != away;
    let mut names = (0..).map(|n| format!("c{n}")).filter(is_elsewhere);
    [names.next().unwrap(), names.next().unwrap()]
}

#[test]
fn who_was_removed_while_the_server_of_the_user_was_away_learns_that_it_has_left() {
    for cools in [false, true] {
        let ways = Ways::new();
        let store = &ways.store;
        group(store, "first", &["a", "b"]);
        let mut device = Asking::new::<TieredBackend<Hot>>("a");
        device.ask(store);
        let away = ways.index_of("a");
        let [name, other] = elsewhere(away);
        for name in [&name, &other] {
            group(store, name, &["b", "a"]);
        }
        device.ask(store).assert_names(&[&name, &other]);
        ways.run();
        ways.proxies[away].cut();
        let in_vain = block_on(store.conversation(&actor("a"), &id(&name)));
        assert!(in_vain.is_ok(), "{in_vain:?}");
        for name in [&name, &other] {
            change(store, name, remove("a"));
        }
        change(store, &other, add("a"));
        ways.run();
        assert!(ways.untold() > 0);
        if cools {
            ways.site.evict();
        }
        ways.proxies[away].mend();
        block_on(patiently(async || store.ready().await));
        ways.run();
        let told = device.ask(store);
        assert!(!told.anew, "nothing was lost");
        told.assert_names(&[&name, &other]);
        told.assert_left(&name);
        assert!(!told.assert_kinds(&other, &[ChangeKind::Membership]).left);
        assert_eq!(ways.untold(), 0);
        device.ask(store).assert_names(&[]);
    }
}
