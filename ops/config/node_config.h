// What a node is told: one typed struct. The defaults stand here, everything else about an option
// (name, unit, bounds, what it is for) in node_options.cc. Filled by config_file.h; plain data,
// copied freely.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eroica {

struct NodeConfig {
  struct Node {
    std::vector<std::string> roles = {"summarize", "align", "diagnose"};
    std::string topic_prefix = "eroica";
    std::string recording;  // folder; exactly one of this and kafka.bootstrap
    std::string log_level = "info";
    std::string replay_id;
  } node;

  struct Kafka {
    std::string bootstrap;
    std::string group_prefix = "eroica";
    std::string instance_id;  // static membership where it is not empty
    // librdkafka's own properties. Secrets are in here once ResolveSecrets has read them.
    std::map<std::string, std::string> properties;
  } kafka;

  struct Topics {
    int32_t events_partitions = 16;
    int32_t collectives_partitions = 8;
    int32_t patterns_partitions = 8;
    int32_t findings_partitions = 1;
    int32_t control_partitions = 1;
    int32_t deadletter_partitions = 1;
    int32_t replication = 1;
    int32_t min_insync_replicas = 1;
    int64_t events_retention_ms = int64_t{6} * 3'600'000;
    int64_t patterns_retention_ms = int64_t{24} * 3'600'000;
    int64_t findings_retention_ms = int64_t{30} * 24 * 3'600'000;
    int64_t deadletter_retention_ms = int64_t{7} * 24 * 3'600'000;
    int64_t audit_retention_ms = int64_t{90} * 24 * 3'600'000;
  } topics;

  struct State {
    std::string folder;      // empty: beside the recording, or eroica-state
    int64_t memory_mib = 0;  // here and below: a share of the node's, see memory_shares.h
    bool survive_power_loss = false;
    int64_t job_retention_minutes = int64_t{24} * 60;
    int64_t ended_jobs_kept = 32;
    int64_t findings_retention_days = 30;
  } state;

  struct Summarize {
    int64_t window_ms = 10'000;
    int64_t out_of_orderness_ms = 5'000;
    double fold_below = 0.005;
    int64_t memory_mib = 0;
  } summarize;

  struct Diagnose {
    int64_t memory_mib = 0;
  } diagnose;

  struct Align {
    int64_t open_windows_max = 64;
    int64_t memory_mib = 0;
  } align;

  struct Findings {
    bool json_topic = false;
  } findings;

  struct Alerts {
    std::string severity = "minor";
    std::string webhook_url;
    std::string webhook_url_file;
    std::string webhook_secret_file;
    std::string webhook_secret_env;
    int64_t webhook_queue_max = 1'000;
    int64_t webhook_give_up_minutes = int64_t{24} * 60;
    std::string alertmanager_urls;
    int64_t alertmanager_resend_seconds = 60;
    std::string ca_certificate;
    int64_t timeout_ms = 10'000;
    std::string listen;  // empty: nothing listens
  } alerts;

  struct Act {
    std::string listen;  // empty: nothing listens
  } act;

  struct Runtime {
    std::string processing_guarantee = "at_least_once";
    int64_t memory_mib = 2'048;
    int64_t threads_per_stage = 1;
    int64_t poll_records_max = 64;
    int64_t poll_timeout_ms = 100;
    int64_t commit_interval_ms = 500;
    int64_t flush_timeout_ms = 10'000;
    int64_t idle_timeout_ms = 2'000;
  } runtime;

  struct Rest {
    std::string listen;  // empty: 127.0.0.1:8470, or any port where that is taken
    std::string token_file;
    std::string tls_certificate;
    std::string tls_key;
    std::string hosts;
    bool network_without_token = false;
    std::string advertise;
    std::string peer_token_file;
    std::string peer_ca_certificate;
    double requests_per_second = 1'000;
    int64_t connections_max = 4'096;
    int64_t memory_mib = 0;
    int64_t replay_memory_mib = 512;
  } rest;

  struct Health {
    double dead_letter_share_max = 0.05;
    int64_t dead_letters_min = 20;
    int64_t period_seconds = 60;
  } health;
};

}  // namespace eroica
