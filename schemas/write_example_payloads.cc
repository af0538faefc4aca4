// Writes one payload of each type to a folder: `write_example_payloads schemas/testdata/payloads`
// after a change of the wire that is meant.
#include <cstdio>
#include <string>

#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

bool WriteFile(const std::string& path, Bytes bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written;
}

template <typename T>
bool WriteExample(const std::string& folder) {
  TestEncoder encoder;
  const Bytes bytes = encoder.Encode(Example<T>());
  return WriteFile(folder + "/" + std::string(SchemaId(TypeOf(bytes))) + ".bin", bytes);
}

}  // namespace
}  // namespace eroica

int main(int argc, char** argv) {
  using namespace eroica;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_example_payloads FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  const bool written = WriteExample<EventBatch>(folder) && WriteExample<PatternBatch>(folder) &&
                       WriteExample<CollectiveBatch>(folder) &&
                       WriteExample<CollectiveSummary>(folder) && WriteExample<Finding>(folder) &&
                       WriteExample<Control>(folder) && WriteExample<RankStanding>(folder);
  if (!written) std::perror(folder.c_str());
  return written ? 0 : 1;
}
