// The folder by which the ranks of one `eroica run` find each other. Owner: the command; the folder
// goes with this object.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <utility>

namespace eroica {

class ExchangeFolder {
 public:
  // A new folder of this user in the first of ExchangeParents() (producers/core/rank_claim.h) that
  // takes one.
  static absl::StatusOr<std::unique_ptr<ExchangeFolder>> Make();
  explicit ExchangeFolder(std::string path) : path_(std::move(path)) {}
  ~ExchangeFolder();
  ExchangeFolder(const ExchangeFolder&) = delete;
  ExchangeFolder& operator=(const ExchangeFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace eroica
