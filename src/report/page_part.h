// What a capability adds to the page of runs. Each has a function that makes its part of all runs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace evener::report {

struct PagePart {
  std::string html = {};                           // "": there is nothing to show
  bool is_detail = false;                          // its place is below the parts on speed, stages and classes
  std::string name = {};                           // of its plots' data
  std::vector<nlohmann::ordered_json> plots = {};  // what the script draws of each run, in run[name]; empty: nothing
  std::string_view style = {};                     // CSS
  std::string_view script = {};                    // adds what draws the plots of a job to window.part_plots
};

}  // namespace evener::report
