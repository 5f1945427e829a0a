#include "support/browser_helpers.h"

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
  std::ofstream(page, std::ios::app) << R"(<script>window.addEventListener('load', () => {
    const seen = document.body.dataset;
    HTMLAnchorElement.prototype.click = function () { seen.saved = (seen.saved || 'saved=') + this.download + ' '; };
    [...document.querySelectorAll('.save button')].slice(0, 2).forEach((button) => button.click());
    setTimeout(() => {
      const asked = performance.getEntriesByType('resource').map((entry) => entry.name);
      seen.requests = 'requests=' + asked.length + ' ' + asked.join(' ');
      const loss = document.getElementById('plot-loss-0');
      seen.curves = 'curves=' + loss?.data?.length + ' on a ' + loss?._fullLayout?.yaxis.type + ' axis';
      for (const part of document.querySelectorAll('details')) part.open = true;
      const tables = [...document.querySelectorAll('.scroll')];
      seen.cut = 'cut=' + tables.filter((table) => table.scrollWidth > table.clientWidth).length + ' of ' + tables.length;
      seen.overflow = 'overflow=' + (document.documentElement.scrollWidth > window.innerWidth);
    }, 3000);
  });</script>)";
  // A browser's window has a least width; a frame in it has none.
  const std::filesystem::path host = page.string() + ".host.html";
  std::ofstream(host) << "<!doctype html><iframe style=\"border:0;width:" << width << "px;height:2000px\" src=\""
                      << page.filename().string()
                      << "\"></iframe><script>addEventListener('load', () => setTimeout(() => {"
                      << "document.documentElement.innerHTML = frames[0].document.documentElement.outerHTML; }, 5000));"
                      << "</script>";
  return output_of("timeout 120 " + browser() + " --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage " +
                   "--allow-file-access-from-files --user-data-dir='" + profile.string() +
                   "' --window-size=1500,2000 --virtual-time-budget=10000 --dump-dom 'file://" + host.string() +
                   "' 2>/dev/null");
}

}  // namespace evener::test
