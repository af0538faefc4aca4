// eroica import: traces into a recording, or into Kafka.
#include <iostream>
#include <memory>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/import_into_log.h"
#include "ops/cli/output_log.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"

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
  absl::StatusOr<OutputLog> output =
      OpenOutputLog(*std::move(config),
                    {.command = "eroica import", .folder = flags.output, .append = flags.append});
  if (!output.ok()) return output.status();
  absl::StatusOr<ImportReport> report = ImportIntoLog(flags.traces, *output->log, output->sink);
  if (!report.ok()) return report.status();
  if (absl::Status status = output->Finish(); !status.ok()) return status;
  return report;
}

}  // namespace

void AddImportCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command =
      app.add_subcommand("import", "Turn traces into a recording, or send them to Kafka");
  flags->traces.AddTo(*command);
  CLI::Option* output = command
                            ->add_option("-o,--output", flags->output,
                                         "Folder of the recording to write; made if it is not "
                                         "there")
                            ->type_name("DIR");
  flags->config.AddTo(*command);
  // A recording is where a node reads; here it would be where we write, as -o says it.
  command->get_option("--bootstrap")->excludes(output);
  command->get_option("--recording")->excludes(output)->group("");
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
    if (flags->json) {
      std::cout << ImportReportJson(*report) << "\n";
    } else if (!IsQuiet()) {
      std::cout << WrappedLines(report->ToText(), OutputWidth(), 2);
    }
  });
}

}  // namespace eroica
