#include "faces/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
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

namespace evener::faces {
namespace {

constexpr std::string_view kFacesStyle =
#include "faces/page/faces.css.inc"
    ;

constexpr std::string_view kFacesScript =
#include "faces/page/faces.js.inc"
    ;

constexpr std::size_t kMostPairs = 24;
constexpr std::size_t kLeastToPlot = 4;  // with fewer chunks a table is shown

std::string name_of(const FacesPage& page, int group) {
  const auto found = page.names.find(group);
  return found == page.names.end() ? fmt::format("Person {}", group + 1) : found->second;
}

/// A face as a link to its photo.
std::string image(const FacesPage& page, std::size_t number) {
  const FaceOnPage& face = page.faces[number];
  const std::string words = fmt::format("{} ({:.1f} %)", face.file, 100 * face.probability);
  const std::string picture = fmt::format("<img src=\"data:image/jpeg;base64,{}\" title=\"{}\" alt=\"face on {}\">",
                                          to_base64(face.image), report::escape_html(words),
                                          report::escape_html(std::filesystem::path(face.file).filename().string()));
  if (face.link.empty()) return picture;
  const std::string who = face.group < 0 ? "" : name_of(page, face.group) + ", ";
  return fmt::format("<a class=\"face\" href=\"{}\" data-box=\"{:.1f} {:.1f} {:.1f} {:.1f}\" data-words=\"{}\">{}</a>",
                     report::escape_html(face.link), face.box[0], face.box[1], face.box[2], face.box[3],
                     report::escape_html(who + words), picture);
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
      report::escape_html(page.names_file), report::escape_html(nlohmann::json(others).dump()),
      report::escape_html(page.names_file));
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
            ? report::escape_html(name)
            : fmt::format(
                  "<input data-group=\"{}\" value=\"{}\" placeholder=\"Person {}\" aria-label=\"Name of person {}\" "
                  "autocomplete=\"off\" spellcheck=\"false\">",
                  number + 1, page.names.contains(number) ? report::escape_html(name) : "", number + 1, number + 1);
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
  std::set<std::size_t> seen;  // each face in one pair only, or one person on many photos would fill the list
  for (const PairOnPage& pair : page.pairs) {
    if (seen.size() == 2 * kMostPairs) break;
    if (seen.contains(pair.first) || seen.contains(pair.second)) continue;
    seen.insert({pair.first, pair.second});
    pairs += fmt::format("<div class=\"pair\">{}{}<b>{:.3f}</b></div>\n", image(page, pair.first),
                         image(page, pair.second), pair.distance);
  }
  if (pairs.empty()) return "";
  return "<h2>Most alike</h2>\n<section class=\"card\"><p class=\"soft\">Pairs of clear faces with the least distance; "
         "0 is the same picture.</p><div class=\"pairs\">\n" +
         pairs + "</div></section>\n";
}

/// A section with a plot, which page/faces.js.inc draws; `words` are HTML.
std::string plot_part(const std::string& heading, const std::string& svg, const std::string& words) {
  return fmt::format(
      "<h2>{}</h2>\n<section class=\"card\"><svg {} role=\"img\"></svg><p class=\"soft\">{}</p></section>\n", heading,
      svg, words);
}

std::string histogram_part(const FacesPage& page) {
  if (std::ranges::count(page.histogram, 0U) == std::ssize(page.histogram)) return "";
  return plot_part(
      "How far faces are apart", "id=\"histogram\" viewBox=\"0 0 1000 230\" aria-label=\"Histogram of distances\"",
      fmt::format("Pairs of faces by their Euclidean distance. Left of the line ({:.2f}) they may be of one person.",
                  page.limit));
}

std::string judgement_part(const std::optional<JudgementOnPage>& judgement) {
  if (!judgement) return "";
  return plot_part("How well persons are told apart",
                   "id=\"judgement\" class=\"roc\" viewBox=\"0 0 410 400\" aria-label=\"ROC curve\"",
                   "Upwards: pairs of one person that are accepted, at each limit. The dot is where as many are "
                   "wrongly refused as wrongly accepted. " +
                       report::escape_html(judgement->words));
}

std::string card(const std::string& title, const std::string& content, const std::string& words) {
  return fmt::format("<section class=\"card\"><h3>{}</h3>{}<p class=\"soft\">{}</p></section>\n", title, content,
                     words);
}

std::string cost_plot(const char* id, const std::string& title, const std::string& words) {
  return card(title,
              fmt::format("<svg id=\"{}\" viewBox=\"0 0 520 240\" role=\"img\" aria-label=\"{}\"></svg>", id, title),
              words);
}

/// The chunks that took time.
std::vector<ChunkOnPage> timed_chunks(const FacesPage& page) {
  std::vector<ChunkOnPage> chunks = page.chunks;
  std::erase_if(chunks, [](const ChunkOnPage& chunk) { return !(chunk.seconds > 0); });
  return chunks;
}

double rate_of(const ChunkOnPage& chunk) {
  return static_cast<double>(chunk.photos) / chunk.seconds;
}

/// A table for a few chunks, of which a plot would show too little.
std::string chunks_table(std::vector<ChunkOnPage> chunks) {
  std::ranges::sort(chunks, {}, [](const ChunkOnPage& chunk) { return std::pair(chunk.worker, chunk.begin_s); });
  report::HtmlTable table{
      .columns =
          {{"worker"}, {"photos"}, {"time"}, {"photos a second"}, {"its thread computed"}, {"memory at the end"}},
      .style = ""};
  for (const ChunkOnPage& chunk : chunks) {
    table.rows.push_back({{{std::to_string(chunk.worker + 1)},
                           {std::to_string(chunk.photos)},
                           {duration_text(chunk.seconds)},
                           {report::number_text(rate_of(chunk))},
                           {fmt::format("{:.0f} %", chunk.cpu_percent)},
                           {bytes_text(chunk.rss_bytes)}}});
  }
  return card("Each worker's photos", "<div class=\"wide\">" + table.html() + "</div>",
              "Memory is the whole program's. chunks.csv has the figures.");
}

/// The speed and the memory of each chunk of photos.
std::string costs_part(const FacesPage& page) {
  const std::vector<ChunkOnPage> chunks = timed_chunks(page);
  if (chunks.empty()) return "";
  std::string html;
  if (chunks.size() < kLeastToPlot) {
    html = chunks_table(chunks);
  } else {
    double cpu_percent = 0, seconds = 0;
    for (const ChunkOnPage& chunk : chunks) {
      cpu_percent += chunk.cpu_percent * chunk.seconds;
      seconds += chunk.seconds;
    }
    html =
        cost_plot("speed", "Photos a second of each worker",
                  fmt::format("A bar for each chunk of photos, as long as it took; a colour for each worker. The "
                              "workers' threads were computing for {:.0f} % of the time. chunks.csv has the figures.",
                              cpu_percent / seconds)) +
        cost_plot("memory", "Memory of the program", "At the end of each chunk of photos.");
  }
  return "<h2>What it cost</h2>\n<div class=\"costs\">\n" + html + "</div>\n";
}

/// What page/faces.js.inc draws.
nlohmann::json plots_data(const FacesPage& page) {
  nlohmann::json chunks = nlohmann::json::array(), curve = nlohmann::json::array();
  for (const ChunkOnPage& chunk : timed_chunks(page)) {
    chunks.push_back({{"begin_s", chunk.begin_s},
                      {"end_s", chunk.begin_s + chunk.seconds},
                      {"rate", rate_of(chunk)},
                      {"rss_bytes", chunk.rss_bytes},
                      {"color", report::run_color(static_cast<std::size_t>(chunk.worker))}});
  }
  if (page.judgement) curve = page.judgement->curve;
  return {{"histogram", page.histogram},
          {"limit", page.limit},
          {"curve", curve},
          {"equal_error_rate", page.judgement ? page.judgement->equal_error_rate : 0},
          {"chunks", chunks}};
}

}  // namespace

std::string faces_html(const FacesPage& page) {
  std::string html = "<main>\n<h1>" + report::escape_html(page.title) + "</h1>\n";
  const std::vector<std::pair<int, Members>> persons = persons_of(page);
  html += "<div class=\"numbers\">" + number_part(page.photos, "photo", "photos") +
          number_part(page.all_faces, "face", "faces") +
          (page.tells_persons ? number_part(persons.size(), "person seen more than once", "persons seen more than once")
                              : "") +
          "</div>\n";
  for (const std::string& sentence : page.notes)
    html += "<p class=\"note\">" + report::escape_html(sentence) + "</p>\n";
  if (page.faces.size() < page.all_faces) {
    html += fmt::format("<p>The page shows {} of the faces; faces.csv has all.</p>\n", page.faces.size());
  }
  html += persons_part(page, persons) + others_part(page, true, "Seen once", "Clear faces that are like no other.") +
          pairs_part(page) + histogram_part(page) + judgement_part(page.judgement) +
          others_part(page, false, "Unclear", "Too small or too blurred to tell who it is, or no face at all.") +
          costs_part(page);
  html += "<h2>About this page</h2>\n";
  for (const std::string& sentence : page.summary)
    html += "<p class=\"soft\">" + report::escape_html(sentence) + "</p>\n";
  html +=
      "<p class=\"soft\">Written by evener. The faces are inside this file; photos are shown from where they lie, so "
      "that whoever gets this file alone sees none.</p>\n</main>\n"
      "<dialog id=\"photo\"><form method=\"dialog\"><button aria-label=\"Close\">&#10005;</button></form><div "
      "class=\"frame\"><img alt=\"\"><i></i></div><p></p></dialog>\n";
  return report::Page{.title = page.title + " - faces",
                      .policy = report::kPhotosPolicy,
                      .styles = {kFacesStyle},
                      .content = std::move(html),
                      .data = plots_data(page).dump(),
                      .scripts = {kFacesScript}}
      .html();
}

}  // namespace evener::faces
