// Makes a run in a child process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/record.h"

namespace evener::run {

/// The owner and the name of a run, for messages: "demo", "resnet34 on cpu/t1".
struct ChildName {
  std::string owner, name;
};

/// Runs this program with the arguments `words` ("train", "resnet34", ...) in a child process and reads the record that
/// it leaves in `out`. Throws Interrupted after a stop request, and Error if the process failed.
record::Record run_as_child(const std::vector<std::string>& words, const std::filesystem::path& out,
                            const ChildName& name);

}  // namespace evener::run
