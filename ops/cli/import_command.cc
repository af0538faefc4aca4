// eroica import: traces into a recording, or into Kafka.
#include <iostream>
#include <memory>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/import_into_log.h"
#include "ops/cli/output_log.h"

namespace eroica {
namespace {

struct ImportFlags {
  TraceFlags traces;
  ConfigFlags config;
  std::string output;
  bool append = false;
  bool json = false;
};

absl::StatusOr<ImportReport> Import(const ImportFlags& flags) {
  absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  const absl::StatusOr<OutputLog> output =
      OpenOutputLog(*std::move(config), flags.output, flags.append);
  if (!output.ok()) return output.status();
  return ImportIntoLog(flags.traces, *output->log, output->sink);
}

}  // namespace

void AddImportCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command =
      app.add_subcommand("import", "Turn traces into a recording, or send them to Kafka");
  flags->traces.AddTo(*command);
  command
      ->add_option("-o,--output", flags->output, "Folder of the recording; made if it is not there")
      ->type_name("DIR");
  flags->config.AddTo(*command);
  command->add_flag("--append", flags->append, "Add to a recording that holds events already");
  command->add_flag("--json", flags->json, "What was imported and skipped, as one JSON object");
  command->footer(
      "Examples:\n"
      "  eroica import traces/ -o recording/\n"
      "  eroica import rank0.json.gz rank1.json.gz --job nightly --bootstrap localhost:9092\n\n"
      "Exit codes: 0 imported, 2 nothing could be imported, or an error.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<ImportReport> report = Import(*flags);
    if (!report.ok()) {
      *exit_code = ExitWithError(report.status());
      return;
    }
    std::cout << (flags->json ? ImportReportJson(*report) + "\n" : report->ToText());
  });
}

}  // namespace eroica
