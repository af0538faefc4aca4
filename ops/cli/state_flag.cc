#include "ops/cli/state_flag.h"

#include "ops/cli/state_folder.h"

namespace eroica {

CLI::Option* StateFlag::AddTo(CLI::App& command) {
  option_ = command
                .add_option("--state", folder_,
                            "From the state store of a node, also of a running one; without DIR "
                            "the configured one")
                ->type_name("[DIR]")
                ->expected(0, 1);
  return option_;
}

std::string StateFlag::Folder(const NodeConfig& config) const {
  return folder_.empty() ? StateFolder(config) : folder_;
}

}  // namespace eroica
