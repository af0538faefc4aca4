# Every library that we build on, as Debian 12 ships it. ops/install_dependencies.sh holds the packages.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Flatbuffers NAMES FlatBuffers flatbuffers REQUIRED)
find_package(RocksDB REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
# Checksums of recordings.
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
# Headers alone: Boost.Math.
find_package(Boost REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Of the program alone; producers live in processes that have an allocator.
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
