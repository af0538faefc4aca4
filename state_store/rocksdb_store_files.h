// The files of RocksDB, each its owner's alone: RocksDB itself makes them readable by everybody
// (0644), and has no option for it. Thread-safe.
#pragma once

#include <rocksdb/env.h>

namespace eroica {

// One a process; never destroyed.
rocksdb::Env* PrivateEnv();

}  // namespace eroica
