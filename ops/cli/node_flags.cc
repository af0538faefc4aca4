#include "ops/cli/node_flags.h"

#include <absl/strings/ascii.h>

#include <cstdlib>
#include <utility>

#include "ops/cli/stop_signal.h"
#include "ops/config/text_file.h"

namespace eroica {
namespace {

constexpr const char* kTokenVariable = "EROICA_TOKEN";

}  // namespace

void NodeFlags::AddTo(CLI::App& command) {
  auto* node = command
                   .add_option("--node", url_,
                               "The running node to ask, http://HOST:PORT or https://HOST:PORT")
                   ->type_name("URL");
  if (!url_.empty()) node->capture_default_str();
  command
      .add_option("--token-file", token_file_,
                  "File that holds the token for the node (default: EROICA_TOKEN)")
      ->type_name("FILE");
  command
      .add_option("--ca-certificate", ca_certificate_,
                  "PEM file of the authority that the node's certificate is believed by (default: "
                  "the system's)")
      ->type_name("FILE");
}

void NodeFlags::Exclude(CLI::App& command, const std::vector<std::string>& options) const {
  CLI::Option* node = command.get_option("--node");
  for (const std::string& option : options) node->excludes(command.get_option(option));
}

absl::StatusOr<NodeClient> NodeFlags::Open() const {
  PeerOptions options{.token = {}, .ca_certificate = ca_certificate_};
  if (!token_file_.empty()) {
    const absl::StatusOr<std::string> token = ReadTextFile(token_file_);
    if (!token.ok()) return token.status();
    options.token = std::string(absl::StripAsciiWhitespace(*token));
  } else if (const char* token = std::getenv(kTokenVariable); token != nullptr) {
    options.token = std::string(absl::StripAsciiWhitespace(token));
  }
  if (options.token.find_first_of("\r\n") != std::string::npos)
    return absl::InvalidArgumentError("the token is more than one line");
  return NodeClient(url_, std::move(options), [] { return !StopRequested(); });
}

absl::Status NodeFlags::CheckUnused() const {
  if (token_file_.empty() && ca_certificate_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("--token-file and --ca-certificate serve --node alone");
}

}  // namespace eroica
