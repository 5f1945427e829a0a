// A run in a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "record/record.h"

namespace evener::run {

/// Whose run it is and what it does, for messages: "demo", "resnet34 on cpu/t1".
struct ChildName {
  std::string owner, name;
};

/// Runs this program with `words` ("train", "resnet34", ...) in a process of its own and reads the record that it left
/// in `out`. Throws Interrupted after a stop request, Error when the process failed.
record::Record run_as_child(const std::vector<std::string>& words, const std::filesystem::path& out,
                            const ChildName& name);

}  // namespace evener::run
