// The page about a trained classifier for people who don't know evener (infer/share/share_page.h).
#pragma once

#include <filesystem>

#include "base/this_work.h"
#include "measure/run/observer.h"
#include "options/option.h"

namespace evener::inference {

struct ShareFlags : OptionGroup {
  ShareFlags() : OptionGroup("Page") {}

  Option<std::string> run{*this, "RUN RUN", rules().needed(), "The folder of a training"};
  Option<std::string> html{*this, "--html FILE", "The page (default: share/page.html in the run's folder)"};
};

/// Shows the network of the run the test part of its data, or the validation part where there is no other, in the
/// folder "share" of the run, and writes the page. Returns where that is. Throws UsageError where the run is no
/// classifier's training or its data has neither part, Error and Interrupted.
std::filesystem::path share(const ShareFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::inference
