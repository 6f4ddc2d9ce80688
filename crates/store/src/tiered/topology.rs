//! Which server has which partition.

/// The bucket of a key among `buckets`, by jump consistent hash (Lamping and Veach, "A Fast, Minimal
/// Memory, Consistent Hash Algorithm", 2014): when a bucket is added, only keys that move to it move.
pub fn jump(key: u64, buckets: usize) -> usize {
    let buckets = buckets as i64;
    let (mut key, mut bucket, mut next) = (key, 0_i64, 0_i64);
    while next < buckets {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let scale = (1_u64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((bucket + 1) as f64 * scale) as i64;
    }
    bucket as usize
}

/// The server of a partition. The partition is hashed first: the jump hash wants keys that are spread.
pub fn server_of(partition: u8, servers: usize) -> usize {
    jump(xxhash_rust::xxh64::xxh64(&[partition], 0), servers)
}

/// The partitions of a server.
pub fn partitions_of(server: usize, servers: usize) -> Vec<u8> {
    (0..=u8::MAX).filter(|partition| server_of(*partition, servers) == server).collect()
}

/// The partitions of a server as scripts are told: a "1" for each that it has; "": it has all.
pub fn spelled(server: usize, servers: usize) -> String {
    let digit = |partition| if server_of(partition, servers) == server { '1' } else { '0' };
    if servers == 1 { String::new() } else { (0..=u8::MAX).map(digit).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_move_only_to_the_server_that_is_added() {
        for servers in 1..20 {
            for partition in 0..=u8::MAX {
                let (before, after) = (server_of(partition, servers), server_of(partition, servers + 1));
                assert!(before < servers && (after == before || after == servers));
            }
        }
    }

    #[test]
    fn servers_get_about_the_same_number_of_partitions() {
        for servers in 1..=8 {
            let fair = 256 / servers;
            for server in 0..servers {
                let count = partitions_of(server, servers).len();
                assert!(count > fair / 2 && count < fair * 2, "{servers}: {count}");
            }
        }
    }

    /// The mapping is recorded by stored data: it must never change.
    #[test]
    fn the_mapping_is_the_one_that_data_was_stored_with() {
        assert_eq!([0_u8, 1, 2, 100, 255].map(|p| server_of(p, 3)), [0, 0, 2, 2, 1]);
    }
}
