#include "report/faces_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/base64.h"
#include "base/csv.h"
#include "base/names.h"
#include "report/format.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

constexpr std::string_view kFacesStyle =
#include "report/page/faces.css.inc"
    ;

constexpr std::string_view kFacesScript =
#include "report/page/faces.js.inc"
    ;

// 'self' allows images of the same server; for a page opened as a file it allows nothing, hence file:.
constexpr std::string_view kFacesPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self' file:";
constexpr double kLargestDistance = 2;  // between unit vectors
constexpr std::size_t kMostPairs = 24;

std::string name_of(const FacesPage& page, int group) {
  const auto found = page.names.find(group);
  return found == page.names.end() ? fmt::format("Person {}", group + 1) : found->second;
}

/// A face as a link to its photo.
std::string image(const FacesPage& page, std::size_t number) {
  const FaceOnPage& face = page.faces[number];
  const std::string words = fmt::format("{} ({:.1f} %)", face.file, 100 * face.probability);
  const std::string picture =
      fmt::format("<img src=\"data:image/jpeg;base64,{}\" title=\"{}\" alt=\"face on {}\">", to_base64(face.image),
                  escape_html(words), escape_html(std::filesystem::path(face.file).filename().string()));
  if (face.link.empty()) return picture;
  const std::string who = face.group < 0 ? "" : name_of(page, face.group) + ", ";
  return fmt::format("<a class=\"face\" href=\"{}\" data-box=\"{:.1f} {:.1f} {:.1f} {:.1f}\" data-words=\"{}\">{}</a>",
                     escape_html(face.link), face.box[0], face.box[1], face.box[2], face.box[3],
                     escape_html(who + words), picture);
}

std::string faces_of(const FacesPage& page, const std::vector<std::size_t>& members) {
  std::string html = "<div class=\"faces\">";
  for (const std::size_t face : members) html += image(page, face);
  return html + "</div>";
}

std::string number_part(std::size_t number, const char* one, const char* many) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>", number, number == 1 ? one : many);
}

using Members = std::vector<std::size_t>;

/// The persons with their faces, by falling number of faces.
std::vector<std::pair<int, Members>> persons_of(const FacesPage& page) {
  std::map<int, Members> groups;
  for (std::size_t i = 0; i < page.faces.size(); ++i) {
    if (page.faces[i].group >= 0) groups[page.faces[i].group].push_back(i);
  }
  std::vector<std::pair<int, Members>> persons(groups.begin(), groups.end());
  std::ranges::stable_sort(persons, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  // The face with the highest probability represents the person.
  for (auto& [number, members] : persons) {
    std::ranges::stable_sort(members, std::ranges::greater{},
                             [&](std::size_t i) { return std::pair(page.faces[i].clear, page.faces[i].probability); });
  }
  return persons;
}

/// The form for naming persons. A page can't write files, but it can offer a file for download; that one also keeps the
/// names of persons that aren't shown.
std::string naming_part(const FacesPage& page, const std::vector<std::pair<int, Members>>& persons) {
  std::string others;
  for (const auto& [group, name] : page.names) {
    const bool is_shown =
        std::ranges::any_of(persons, [group = group](const auto& person) { return person.first == group; });
    if (!is_shown) others += fmt::format("{},{}\n", group + 1, csv_cell(name));
  }
  return fmt::format(
      "<p class=\"soft\">Names: type them here or write them into <code>{}</code>, a line for each person as in "
      "<code>3,Anna</code>; the same command with <code>--resume</code> takes them over, without looking at any photo "
      "again. A face that isn't the person's is taken out by its line of <code>faces.csv</code> in a file "
      "<code>apart.csv</code> beside it.</p>\n<p id=\"names\" hidden><button type=\"button\" data-others=\"{}\">Save "
      "names.csv</button> <span class=\"soft\">as <code>{}</code>, in place of the one there.</span></p>\n",
      escape_html(page.names_file), escape_html(nlohmann::json(others).dump()), escape_html(page.names_file));
}

std::string persons_part(const FacesPage& page, const std::vector<std::pair<int, Members>>& persons) {
  std::string html = "<h2>Who is who</h2>\n";
  if (!page.tells_persons) {
    html += "<p>Can't be told: the embedder has random weights, so that these groups of faces are no persons.</p>\n";
  }
  if (persons.empty()) return html + "<p>No two faces are alike.</p>\n";
  if (!page.names_file.empty()) html += naming_part(page, persons);
  html += "<div class=\"groups\">\n";
  for (const auto& [number, members] : persons) {
    const std::string name = name_of(page, number);
    const std::string heading =
        page.names_file.empty()
            ? escape_html(name)
            : fmt::format(
                  "<input data-group=\"{}\" value=\"{}\" placeholder=\"Person {}\" aria-label=\"Name of person {}\" "
                  "autocomplete=\"off\" spellcheck=\"false\">",
                  number + 1, page.names.contains(number) ? escape_html(name) : "", number + 1, number + 1);
    html += fmt::format(
        "<section class=\"card person\"><div class=\"lead\">{}</div><div><h3>{}</h3><p class=\"soft\">{}on {} "
        "photos</p>{}</div></section>\n",
        image(page, members.front()), heading,
        page.names.contains(number) ? fmt::format("Person {}, ", number + 1) : std::string(), members.size(),
        faces_of(page, Members(members.begin() + 1, members.end())));
  }
  return html + "</div>\n";
}

/// Faces without a group: the clear ones, or the others.
std::string others_part(const FacesPage& page, bool clear, const char* heading, const char* words) {
  Members members;
  for (std::size_t i = 0; i < page.faces.size(); ++i) {
    if (page.faces[i].group < 0 && page.faces[i].clear == clear) members.push_back(i);
  }
  if (members.empty()) return "";
  return fmt::format(
      "<h2>{} <span class=\"soft\">{}</span></h2>\n<section class=\"card{}\"><p class=\"soft\">{}</p>{}</section>\n",
      heading, members.size(), clear ? "" : " unclear", words, faces_of(page, members));
}

std::string pairs_part(const FacesPage& page) {
  std::string pairs;
  std::size_t shown = 0;
  std::set<std::size_t> seen;  // each face in one pair only, or one person on many photos would fill the list
  for (const PairOnPage& pair : page.pairs) {
    if (shown == kMostPairs) break;
    if (seen.contains(pair.first) || seen.contains(pair.second)) continue;
    seen.insert({pair.first, pair.second});
    ++shown;
    pairs += fmt::format("<div class=\"pair\">{}{}<b>{:.3f}</b></div>\n", image(page, pair.first),
                         image(page, pair.second), pair.distance);
  }
  if (pairs.empty()) return "";
  return "<h2>Most alike</h2>\n<section class=\"card\"><p class=\"soft\">Pairs of clear faces with the least distance; "
         "0 is the same picture.</p><div class=\"pairs\">\n" +
         pairs + "</div></section>\n";
}

std::string histogram_part(const FacesPage& page) {
  const std::size_t most = page.histogram.empty() ? 0 : *std::ranges::max_element(page.histogram);
  if (most == 0) return "";
  constexpr double kWidth = 1000, kHeight = 230, kBase = 190;
  const double step = kWidth / static_cast<double>(page.histogram.size());
  const auto x_of = [&](double distance) { return kWidth * distance / kLargestDistance; };
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Histogram of distances\">", kWidth, kHeight);
  for (std::size_t i = 0; i < page.histogram.size(); ++i) {
    if (page.histogram[i] == 0) continue;
    // A minimum height, so that a few pairs among very many can be seen.
    const double height = std::max(2.0, 170 * static_cast<double>(page.histogram[i]) / static_cast<double>(most));
    const bool near =
        kLargestDistance * static_cast<double>(i + 1) / static_cast<double>(page.histogram.size()) <= page.limit;
    svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       near ? "near" : "bar", static_cast<double>(i) * step, kBase - height, step * 0.9, height);
  }
  svg += fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kWidth, kBase, kBase);
  svg += fmt::format("<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"10\" y2=\"{1}\"/>", x_of(page.limit),
                     kBase);
  for (const double mark : {0.0, 0.5, 1.0, 1.5, 2.0}) {
    const char* anchor = mark == 0 ? "start" : mark == kLargestDistance ? "end" : "middle";
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{:.1f}</text>", x_of(mark), kBase + 34, anchor,
                       mark);
  }
  return fmt::format(
      "<h2>How far faces are apart</h2>\n<section class=\"card\">{}</svg><p class=\"soft\">Pairs of faces by their "
      "Euclidean distance. Left of the line ({:.2f}) they may be of one person.</p></section>\n",
      svg, page.limit);
}

std::string judgement_part(const std::optional<JudgementOnPage>& judgement) {
  if (!judgement) return "";
  constexpr double kSide = 320, kLeft = 60, kTop = 10;
  const auto x_of = [](double different) { return kLeft + kSide * different; };
  const auto y_of = [](double same) { return kTop + kSide * (1 - same); };
  std::string svg = fmt::format("<svg class=\"roc\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"ROC curve\">",
                                kLeft + kSide + 30, kTop + kSide + 70);
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", x_of(0), x_of(1), y_of(0));
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>", x_of(0), y_of(0), y_of(1));
  svg += fmt::format("<line class=\"chance\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>", x_of(0), y_of(0), x_of(1),
                     y_of(1));
  std::string points;
  for (const auto& [different, same] : judgement->curve) {
    points += fmt::format("{:.1f},{:.1f} ", x_of(different), y_of(same));
  }
  svg += fmt::format("<polyline class=\"curve\" points=\"{}\"/>", points);
  svg += fmt::format("<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>", x_of(judgement->equal_error_rate),
                     y_of(1 - judgement->equal_error_rate));
  for (const double mark : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f} %</text>", x_of(mark), y_of(0) + 28,
                       100 * mark);
    if (mark > 0) {
      svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f} %</text>", kLeft - 8, y_of(mark) + 8,
                         100 * mark);
    }
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">of two persons, accepted</text>", x_of(0.5),
                     y_of(0) + 56);
  return fmt::format(
      "<h2>How well persons are told apart</h2>\n<section class=\"card\">{}</svg><p class=\"soft\">Upwards: pairs of "
      "one person that are accepted, at each limit. The dot is where as many are wrongly refused as wrongly accepted. "
      "{}</p></section>\n",
      svg, escape_html(judgement->words));
}

constexpr double kWidth = 520, kLeft = 76, kRight = 505, kTop = 12, kBottom = 190, kHeight = 240;
constexpr std::size_t kLeastToPlot = 4;  // with fewer chunks a table is shown

/// The distance between about four axis marks: 1, 2 or 5 times a power of ten.
double step_of_marks(double largest) {
  if (!(largest > 0)) return 1;
  const double step = largest / 4, power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step) return factor * power;
  }
  return 10 * power;
}

/// A plot area with labelled axes that begin at 0.
class Plot {
 public:
  using Words = std::function<std::string(double)>;

  Plot(double largest_x, double largest_y, const std::string& label) : largest_x_(largest_x), largest_y_(largest_y) {
    svg_ =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight, escape_html(label));
  }

  /// Draws axes, marks at round values and grid lines. Call it before drawing the data, which lies on top.
  void axes(const std::string& title_x, const Words& words_x, const Words& words_y) {
    const double step_y = step_of_marks(largest_y_);
    for (double y = step_y; y <= largest_y_; y += step_y) {
      line("grid", 0, y, largest_x_, y);
      mark_y(y, words_y(y));
    }
    mark_y(0, "0");
    const double step_x = step_of_marks(largest_x_);
    for (double x = 0; x <= largest_x_; x += step_x) mark_x(x, words_x(x));
    title(title_x);
    line("axis", 0, 0, largest_x_, 0);
    line("axis", 0, 0, 0, largest_y_);
  }

  void line(const char* style, double x1, double y1, double x2, double y2, const std::string& color = "") {
    svg_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"{}/>", style,
                        x_of(x1), y_of(y1), x_of(x2), y_of(y2), color.empty() ? "" : " style=\"stroke:" + color + "\"");
  }
  void curve(const char* style, const std::vector<std::pair<double, double>>& points) {
    svg_ += fmt::format("<polyline class=\"{}\" points=\"", style);
    for (const auto& [x, y] : points) svg_ += fmt::format("{:.1f},{:.1f} ", x_of(x), y_of(y));
    svg_ += "\"/>";
  }
  void dot(double x, double y) {
    svg_ += fmt::format("<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>", x_of(x), y_of(y));
  }
  void mark_x(double x, const std::string& text) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x_of(x), kBottom + 20, text);
  }
  void mark_y(double y, const std::string& text) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 8, y_of(y) + 5, text);
  }
  void title(const std::string& text) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (kLeft + kRight) / 2, kBottom + 42,
                        escape_html(text));
  }
  std::string html() const { return svg_ + "</svg>"; }

 private:
  double x_of(double x) const { return kLeft + (kRight - kLeft) * x / largest_x_; }
  double y_of(double y) const { return kBottom - (kBottom - kTop) * y / largest_y_; }

  const double largest_x_, largest_y_;
  std::string svg_;
};

std::string plain_mark(double value) {
  return fmt::format("{:g}", value);
}

std::string card(const std::string& title, const std::string& plot, const std::string& words) {
  return fmt::format("<section class=\"card\"><h3>{}</h3>{}<p class=\"soft\">{}</p></section>\n", escape_html(title),
                     plot, escape_html(words));
}

double end_of(const std::vector<ChunkOnPage>& chunks) {
  double end_s = 0;
  for (const ChunkOnPage& chunk : chunks) end_s = std::max(end_s, chunk.begin_s + chunk.seconds);
  return end_s;
}

double rate_of(const ChunkOnPage& chunk) {
  return static_cast<double>(chunk.photos) / chunk.seconds;
}

/// A sentence on the CPU usage of the workers' threads.
double cpu_percent_of(const std::vector<ChunkOnPage>& chunks) {
  double cpu_percent = 0, seconds = 0;
  for (const ChunkOnPage& chunk : chunks) cpu_percent += chunk.cpu_percent * chunk.seconds, seconds += chunk.seconds;
  return seconds > 0 ? cpu_percent / seconds : 0;
}

/// A table for a few chunks, of which a plot would show too little.
std::string chunks_table(std::vector<ChunkOnPage> chunks) {
  std::ranges::sort(chunks, {}, [](const ChunkOnPage& chunk) { return std::pair(chunk.worker, chunk.begin_s); });
  HtmlTable table{
      .columns =
          {{"worker"}, {"photos"}, {"time"}, {"photos a second"}, {"its thread computed"}, {"memory at the end"}},
      .style = ""};
  for (const ChunkOnPage& chunk : chunks) {
    table.rows.push_back({{{std::to_string(chunk.worker + 1)},
                           {std::to_string(chunk.photos)},
                           {duration_text(chunk.seconds)},
                           {number_text(rate_of(chunk))},
                           {fmt::format("{:.0f} %", chunk.cpu_percent)},
                           {bytes_text(chunk.rss_bytes)}}});
  }
  return card("Each worker's photos", "<div class=\"wide\">" + table.html() + "</div>",
              "Memory is the whole program's. chunks.csv has the figures.");
}

std::string speed_card(const std::vector<ChunkOnPage>& chunks) {
  const double most = rate_of(std::ranges::max(chunks, {}, rate_of));
  if (!(most > 0)) return "";
  Plot plot(end_of(chunks), 1.1 * most, "Photos a second of each worker");
  plot.axes("seconds since the start", plain_mark, number_text);
  for (const ChunkOnPage& chunk : chunks) {
    plot.line("chunk", chunk.begin_s, rate_of(chunk), chunk.begin_s + chunk.seconds, rate_of(chunk),
              run_color(static_cast<std::size_t>(chunk.worker)));
  }
  return card("Photos a second of each worker", plot.html(),
              fmt::format("A bar for each chunk of photos, as long as it took; a colour for each worker. The workers' "
                          "threads were computing for {:.0f} % of the time. chunks.csv has the figures.",
                          cpu_percent_of(chunks)));
}

std::string memory_card(const std::vector<ChunkOnPage>& chunks) {
  std::vector<std::pair<double, double>> points;
  for (const ChunkOnPage& chunk : chunks) {
    points.emplace_back(chunk.begin_s + chunk.seconds, static_cast<double>(chunk.rss_bytes));
  }
  std::ranges::sort(points);
  const double most = std::ranges::max(points, {}, [](const auto& point) { return point.second; }).second;
  if (!(most > 0)) return "";
  Plot plot(end_of(chunks), 1.1 * most, "Memory");
  plot.axes("seconds since the start", plain_mark,
            [](double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); });
  plot.curve("curve", points);
  for (const auto& [seconds, bytes] : points) plot.dot(seconds, bytes);
  return card("Memory of the program", plot.html(), "At the end of each chunk of photos.");
}

}  // namespace

std::string faces_html(const FacesPage& page) {
  std::string html = "<main>\n<h1>" + escape_html(page.title) + "</h1>\n";
  const std::vector<std::pair<int, Members>> persons = persons_of(page);
  html += "<div class=\"numbers\">" + number_part(page.photos, "photo", "photos") +
          number_part(page.all_faces, "face", "faces") +
          (page.tells_persons ? number_part(persons.size(), "person seen more than once", "persons seen more than once")
                              : "") +
          "</div>\n";
  for (const std::string& sentence : page.notes) html += "<p class=\"note\">" + escape_html(sentence) + "</p>\n";
  if (page.faces.size() < page.all_faces) {
    html += fmt::format("<p>The page shows {} of the faces; faces.csv has all.</p>\n", page.faces.size());
  }
  html += persons_part(page, persons) + others_part(page, true, "Seen once", "Clear faces that are like no other.") +
          pairs_part(page) + histogram_part(page) + judgement_part(page.judgement) +
          others_part(page, false, "Unclear", "Too small or too blurred to tell who it is, or no face at all.") +
          faces_costs_part(page);
  html += "<h2>About this page</h2>\n";
  for (const std::string& sentence : page.summary) html += "<p class=\"soft\">" + escape_html(sentence) + "</p>\n";
  html +=
      "<p class=\"soft\">Written by evener. The faces are inside this file; photos are shown from where they lie, so "
      "that whoever gets this file alone sees none.</p>\n</main>\n"
      "<dialog id=\"photo\"><form method=\"dialog\"><button aria-label=\"Close\">&#10005;</button></form><div "
      "class=\"frame\"><img alt=\"\"><i></i></div><p></p></dialog>\n";
  return Page{.title = page.title + " - faces",
              .policy = kFacesPolicy,
              .styles = {kFacesStyle},
              .content = std::move(html),
              .scripts = {kFacesScript}}
      .html();
}

std::string faces_costs_part(const FacesPage& page) {
  std::vector<ChunkOnPage> chunks = page.chunks;
  std::erase_if(chunks, [](const ChunkOnPage& chunk) { return !(chunk.seconds > 0); });
  std::string html;
  const bool plots = chunks.size() >= kLeastToPlot;
  if (!chunks.empty()) html += plots ? speed_card(chunks) + memory_card(chunks) : chunks_table(chunks);
  return html.empty() ? "" : "<h2>What it cost</h2>\n<div class=\"costs\">\n" + html + "</div>\n";
}

}  // namespace evener::report
