#include "report/folder_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/folder_lock.h"
#include "record/sweep_file.h"
#include "report/format.h"
#include "report/html.h"
#include "report/run.h"
#include "report/sweep.h"
#include "report/sweep_page.h"

namespace evener::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFollowingPage =
#include "report/page/following.html.inc"
    ;

/// Whether a file is written by reports themselves, or not used by them.
bool is_ignored(const fs::path& file) {
  return file.extension() == ".html" || file.extension() == ".safetensors";
}

void add_file(const fs::path& file, std::vector<std::string>& states) {
  std::error_code gone;
  const auto bytes = fs::file_size(file, gone);
  const auto written = fs::last_write_time(file, gone);
  if (!gone) states.push_back(fmt::format("{} {} {}", file.string(), bytes, written.time_since_epoch().count()));
}

/// For a folder of runs or of sweeps, the state is that of their records and journals.
std::vector<std::string> states_in(const fs::path& folder) {
  std::vector<std::string> states;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    std::error_code gone;
    if (entry.is_directory(gone)) {
      for (const char* file : {"record.json", record::kSweepFile, record::kJournalFile}) {
        add_file(entry.path() / file, states);
      }
    } else if (!is_ignored(entry.path())) {
      add_file(entry.path(), states);
    }
  }
  std::ranges::sort(states);
  states.push_back(
      std::to_string(static_cast<int>(folder_lock_state(folder))));  // a killed run changes no file, only its lock
  return states;
}

std::string page_that_waits(const std::string& why) {
  Page page = report_page("Waiting");
  page.content = fmt::format(
      "<header><p class=\"brand\"><b>evener</b> report</p><h1>Nothing to be shown yet</h1><p class=\"lead\">{}</p>"
      "</header>\n",
      escape_html(why));
  return page.html();
}

}  // namespace

std::string folder_page(const std::vector<fs::path>& folders) {
  try {
    const PlotlySource plotly = read_plotly(plotly_path());
    const std::vector<fs::path> sweeps = sweeps_in(folders);
    if (sweeps.size() == 1 && folders.size() == 1) {
      return sweep_page(load_sweep(sweeps.front()), plotly.javascript, plotly.hint);
    }
    if (!sweeps.empty()) {
      std::vector<Sweep> loaded;
      for (const fs::path& folder : sweeps) loaded.push_back(load_sweep(folder));
      return sweeps_page(loaded, folders.front(), plotly.javascript, plotly.hint);
    }
    return html_page(load_runs(folders), plotly.javascript, plotly.hint);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return page_that_waits(error.what());
  }
}

std::string folder_state(const std::vector<fs::path>& folders) {
  std::string state;
  for (const fs::path& folder : folders) {
    for (const std::string& line : states_in(folder)) state += line + '\n';
  }
  return state;
}

std::string following_page(const std::string& title) {
  constexpr std::string_view kPlace = "TITLE";
  std::string page(kFollowingPage);
  return page.replace(page.find(kPlace), kPlace.size(), escape_html(title));
}

}  // namespace evener::report
