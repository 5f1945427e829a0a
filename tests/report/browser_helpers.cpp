#include "report/browser_helpers.h"

#include <array>
#include <cstdio>
#include <fstream>

#include "report/html.h"

namespace evener::test {
namespace {

/// What a command prints on stdout.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 65536> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), count);
  pclose(pipe);
  return output;
}

/// The browser's name, or "" if there is none.
std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (!output_of(std::string("command -v ") + name).empty()) return name;
  }
  return "";
}

}  // namespace

std::string why_no_browser() {
  if (browser().empty()) return "no chromium here: the plots are not looked at";
  const std::filesystem::path plotly = report::plotly_path();
  return std::filesystem::exists(plotly) ? "" : "no Plotly at " + plotly.string();
}

std::string dom_of(const std::filesystem::path& page, const std::filesystem::path& profile, int width) {
  std::ofstream(page, std::ios::app)
      << "<script>window.addEventListener('load', () => setTimeout(() => {\n"
         "  const asked = performance.getEntriesByType('resource').map((entry) => entry.name);\n"
         "  document.body.dataset.requests = 'requests=' + asked.length + ' ' + asked.join(' ');\n"
         "  document.body.dataset.overflow = 'overflow=' + (document.documentElement.scrollWidth > "
         "window.innerWidth);\n"
         "}, 500));</script>";
  return output_of("timeout 120 " + browser() + " --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage " +
                   "--user-data-dir='" + profile.string() + "' --window-size=" + std::to_string(width) +
                   ",2000 --virtual-time-budget=10000 --dump-dom 'file://" + page.string() + "' 2>/dev/null");
}

}  // namespace evener::test
