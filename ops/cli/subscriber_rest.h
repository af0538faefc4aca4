// /healthz and /metrics of a program that follows the findings (`eroica alert`, `eroica act`),
// where its configuration names an address; who may ask is for the section `rest` to say, as of a
// node. Owner: the command; its functions are called on the server's threads, until this ends.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/config/node_config.h"
#include "ops/metrics/subscriber_metrics.h"
#include "ops/rest/server.h"

namespace eroica {

class SubscriberRest {
 public:
  struct Options {
    std::string option;  // that names the address: "alerts.listen"
    std::string listen;  // empty: nothing listens
    // What does not work at present; empty: all is well.
    std::function<std::vector<std::string>()> reasons;
    std::function<std::string(const SubscriberProgram&)> metrics;
  };

  // kInvalidArgument: an option says what cannot be; kUnavailable: the address is taken.
  static absl::StatusOr<std::unique_ptr<SubscriberRest>> Start(const NodeConfig& config,
                                                               Options options);
  // "http://127.0.0.1:8471"; empty: nothing listens.
  std::string url() const { return server_ == nullptr ? "" : server_->url(); }

 private:
  explicit SubscriberRest(Options options) : options_(std::move(options)) {}
  absl::Status Listen(const NodeConfig& config);

  const Options options_;
  std::unique_ptr<RestService> service_;
  std::unique_ptr<RestServer> server_;                 // ends first
  std::atomic<const RestServer*> counting_ = nullptr;  // server_, once requests may ask it
};

}  // namespace eroica
