// `evener demo`: the same trainings in every way that this machine has, then what was trained in each precision, as one
// table on one page, on data that it generates.
#pragma once

#include <string>
#include <vector>

#include "job/observer.h"
#include "job/options/option.h"
#include "report/html.h"
#include "report/sweep.h"

namespace evener::job {

struct DemoFlags : OptionGroup {
  DemoFlags() : OptionGroup("Demo") {}

  Option<std::string> out{*this, "--out DIR", "runs/demo",
                          "Folder for the runs and the report; replaced if it is there"};
  Option<double> minutes{*this, "--minutes MINUTES", 4, within(from_to(0.2, 24 * 60)),
                         "About how long it may take; it is sized by a short probe"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, "Of the images, the first weights and the order"};
};

struct DemoOutcome {
  std::vector<report::Sweep> sweeps;
  report::WrittenPage page;
};

/// The tables and the conclusions, for a terminal of so many columns.
std::string demo_text(const DemoOutcome& outcome, std::size_t width = 160);

/// Runs the demo and tells `observer` demo_text(). Throws UsageError where the folder holds something else, Interrupted
/// after a stop request, and Error where a run failed that all others need.
DemoOutcome demo(const DemoFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
