//! Proves that the faults of this suite happen: servers that are killed come back on their data, a
//! wiped or restored Redis has lost what it should, its clock goes back, a cut line is cut.

use crate::faults::on_redis;
use im_tests::postgres_server::{self, PostgresServer};
use im_tests::process::Signal;
use im_tests::proxy::{Line, Proxy};
use im_tests::redis_server::{Fsync, RedisServer};
use im_tests::sql;
use redis::cmd;
use std::time::Duration;

#[test]
fn a_killed_redis_comes_back_with_what_it_had() {
    if !on_redis() {
        return;
    }
    for fsync in [Fsync::Everysec, Fsync::Always] {
        let mut redis = RedisServer::start(fsync);
        redis.run::<()>(cmd("SET").arg("key").arg("value"));
        redis.stop(Signal::Kill);
        redis.start_again();
        assert_eq!(redis.run::<String>(cmd("GET").arg("key")), "value");
        let set: Vec<String> = redis.run(cmd("CONFIG").arg("GET").arg("appendfsync"));
        assert_eq!(set, ["appendfsync", fsync.name()]);
    }
}

#[test]
fn redis_can_be_wiped_and_put_back() {
    if !on_redis() {
        return;
    }
    let mut redis = RedisServer::start(Fsync::Everysec);
    redis.run::<()>(cmd("SET").arg("key").arg("old"));
    let copy = redis.copy();
    redis.run::<()>(cmd("SET").arg("key").arg("new"));
    redis.flush_all();
    assert_eq!(redis.run::<Option<String>>(cmd("GET").arg("key")), None);
    redis.stop(Signal::Kill);
    redis.restore(&copy);
    redis.start_again();
    assert_eq!(redis.run::<String>(cmd("GET").arg("key")), "old");
}

#[test]
fn the_clock_of_a_running_redis_can_be_set_back() {
    if !on_redis() {
        return;
    }
    let Some(redis) = RedisServer::start_with_clock(Fsync::Everysec) else { return };
    let time = || redis.run::<(u64, u64)>(&cmd("TIME")).0;
    let before = time();
    redis.set_clock(-60);
    std::thread::sleep(Duration::from_millis(500));
    assert!(time() < before, "the clock goes on");
}

#[test]
fn a_killed_postgres_comes_back_with_what_it_had() {
    if !on_redis() {
        return;
    }
    let mut postgres = PostgresServer::start();
    let url = postgres.new_database();
    sql::run(&url, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)");
    for signal in [Signal::Kill, Signal::Int] {
        postgres.stop(signal);
        assert!(sql::try_run(&url, "SELECT n FROM kept").is_err(), "it is gone");
        postgres.start_again();
        assert_eq!(sql::value(&url, "SELECT n FROM kept"), "7");
    }
}

#[test]
fn a_line_can_be_cut_and_restored() {
    if !on_redis() {
        return;
    }
    let proxy = Proxy::to(PostgresServer::shared().port());
    let url = postgres_server::url(proxy.port(), "postgres");
    assert_eq!(sql::value(&url, "SELECT 1"), "1");
    proxy.set(Line::Cut);
    assert!(sql::try_run(&url, "SELECT 1").is_err(), "nothing comes through");
    proxy.set(Line::Silent);
    let waiting = std::thread::spawn({
        let url = url.clone();
        move || sql::value(&url, "SELECT 1")
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished(), "nothing comes through");
    proxy.set(Line::Open);
    assert_eq!(waiting.join().expect("it comes through late"), "1");
}
