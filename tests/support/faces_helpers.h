// `evener faces` as a user runs it, with made-up weights that find faces everywhere.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/data_helpers.h"
#include "support/run_helpers.h"
#include "support/run_program.h"

namespace evener::test {

using Row = std::map<std::string, std::string>;

/// The rows of a CSV file without quotes, by their headings.
std::vector<Row> rows_of(const std::filesystem::path& path);

class Faces : public testing::Test {
 protected:
  void SetUp() override;

  ProgramResult run(const Words& words) const;
  /// The arguments with weights that find something on every photo.
  Words words(const Words& more) const;
  ProgramResult faces(const Words& more) const { return run(words(more)); }
  ProgramOptions options() const { return {.environment = {{"XDG_CACHE_HOME", file("cache")}}}; }

  /// The same two in the test's own process: for what is refused, and for files of embeddings.
  ProgramResult run_here(const Words& words) const;
  ProgramResult refused(const Words& more) const { return run_here(words(more)); }

  std::filesystem::path weights() const { return folder_ / "weights"; }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  /// A grey picture of noise, another one for each name.
  void write_photo(const std::string& name, int width = 44, int height = 40) const;

  TemporaryFolder folder_;
};

}  // namespace evener::test
