// What tests of `evener infer` begin with: a network that a test has trained, pictures, and the program itself.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "support/run_helpers.h"
#include "support/run_program.h"

namespace evener::test {

std::vector<std::string> lines_of(const std::string& text);

/// The port of the address that `evener serve` has told; 0 if it ended before.
int port_told(RunningProgram& program);

class Infer : public testing::Test {
 protected:
  void SetUp() override;

  /// Runs `evener infer WORDS...`; compiled networks are kept in the test's own folder.
  ProgramResult infer(const Words& words) const;
  /// The same in the test's own process: for what is refused.
  ProgramResult refused(const Words& words) const;
  ProgramOptions options() const { return {.environment = {{"XDG_CACHE_HOME", file("cache")}}}; }
  /// A network that tells ten digits apart, in a folder of this test's own.
  std::string trained() const;
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  /// A folder with a grey picture of each name.
  std::string pictures(const std::vector<std::string>& names) const;

  TemporaryFolder folder_;
};

}  // namespace evener::test
