// Describes data: its images, classes and parts, and what is wrong with it.
#pragma once

#include <string>

#include "job/description.h"
#include "job/observer.h"
#include "job/options/data_flags.h"
#include "job/options/option.h"

namespace evener::job {

struct DataInfoFlags : OptionGroup {
  DataInfoFlags() : OptionGroup("Output") {}

  WholeSourceFlags source{"DATA"};
  Option<std::string> json{*this, "--json FILE", "Write JSON to FILE ('-': to stdout, instead of the text)"};

  Option<std::string> copies{*this, "--copies FILE.csv",
                             "Compare the images of all parts, and write each that is also in training to FILE.csv"};

  OptionSet options() { return {&source, this}; }
};

/// Decodes every image once; tells their classes, counts and parts, and which files are unusable. Throws UsageError and
/// Error.
Description look_at_data(const DataInfoFlags& flags, Observer& observer);

}  // namespace evener::job
