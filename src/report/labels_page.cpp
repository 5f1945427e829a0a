#include "report/labels_page.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "report/format.h"
#include "report/html.h"

namespace evener::report {
namespace {

constexpr std::string_view kLabelsStyle =
#include "report/page/labels.css.inc"
    ;
constexpr std::string_view kLabelsScript =
#include "report/page/labels.js.inc"
    ;

// 'self' allows images of the same server; for a page opened as a file it allows nothing, hence file:.
constexpr std::string_view kLabelsPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self' file:";

double four_digits(double value) {
  return std::round(value * 1e4) / 1e4;
}

/// A box as shares of the picture's width and height, or null.
nlohmann::json shares(const std::optional<std::array<double, 4>>& box, const LabelOnPage& label) {
  if (!box || label.width <= 0 || label.height <= 0) return nullptr;
  const auto width = static_cast<double>(label.width), height = static_cast<double>(label.height);
  return {four_digits((*box)[0] / width), four_digits((*box)[1] / height), four_digits((*box)[2] / width),
          four_digits((*box)[3] / height)};
}

std::string data_of(const LabelsPage& page) {
  nlohmann::json labels = nlohmann::json::array();
  for (const LabelOnPage& one : page.labels) {
    labels.push_back({{"file", one.file},
                      {"label", one.label},
                      {"suggested", one.suggested},
                      {"probability", four_digits(one.probability)},
                      {"labelProbability", four_digits(one.label_probability)},
                      {"score", four_digits(one.score)},
                      {"kind", one.kind},
                      {"part", one.part},
                      {"small", fmt::format("data:{};base64,{}", one.small_type, to_base64(one.small))},
                      {"link", one.link},
                      {"size", {one.width, one.height}},
                      {"found", shares(one.found, one)},
                      {"labelled", shares(one.labelled, one)}});
  }
  return nlohmann::json{{"title", page.title}, {"labels", std::move(labels)}, {"hasBoxes", page.has_boxes}}.dump();
}

std::string sentences(const std::vector<std::string>& all, const char* style) {
  std::string html;
  for (const std::string& sentence : all) {
    html += fmt::format("<p class=\"{}\">{}</p>\n", style, escape_html(sentence));
  }
  return html;
}

constexpr std::string_view kTools =
    "<header>\n<form id=\"tools\">\n"
    "<label>Show <select id=\"kind\"></select></label>\n"
    "<label><select id=\"pair\" aria-label=\"Classes\"></select></label>\n"
    "<button type=\"button\" id=\"tick\">Tick all shown</button>\n"
    "<button type=\"button\" id=\"untick\">Untick all</button>\n"
    "<button type=\"button\" id=\"save\" class=\"main\" disabled>Save drop.txt</button>\n"
    "</form>\n<p id=\"count\" role=\"status\"></p>\n</header>\n";

constexpr std::string_view kViewer =
    "<dialog id=\"viewer\" aria-label=\"Picture\"><form method=\"dialog\"><button "
    "aria-label=\"Close\">&#10005;</button>"
    "</form><div class=\"frame\"><img alt=\"\"><svg viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\"></svg></div>"
    "<p></p><label><input type=\"checkbox\" autofocus> this label is wrong</label></dialog>\n";

constexpr std::string_view kHelp =
    "<p class=\"soft\">Tick what is wrong, then save the list; <code>evener train ... --drop drop.txt</code> trains "
    "without these images. Keys: <kbd>&larr;</kbd> <kbd>&rarr;</kbd> <kbd>&uarr;</kbd> <kbd>&darr;</kbd> go from one "
    "to "
    "the next, <kbd>space</kbd> ticks, <kbd>Enter</kbd> shows the picture at full size, <kbd>Esc</kbd> goes back, "
    "<kbd>s</kbd> saves.</p>\n";

constexpr std::string_view kLegend = "<p class=\"soft legend\"><i></i>found <i class=\"dashed\"></i>the label</p>\n";

}  // namespace

std::string labels_html(const LabelsPage& page) {
  std::string html = "<main>\n<h1>Labels that look wrong</h1>\n<p class=\"soft\">" + escape_html(page.title) + "</p>\n";
  html += sentences(page.summary, "told") + sentences(page.notes, "note");
  if (page.labels.size() < page.all) {
    html += fmt::format("<p class=\"soft\">The page shows the worst {} of {}; labels.csv has all.</p>\n",
                        page.labels.size(), page.all);
  }
  if (page.labels.empty()) {
    html += "<p class=\"told\">No label looks wrong.</p>\n</main>\n";
  } else {
    html += std::string(kHelp) + (page.has_boxes ? std::string(kLegend) : "") + "</main>\n" + std::string(kTools) +
            "<section id=\"labels\"></section>\n<noscript><p>The page needs JavaScript to show the pictures; "
            "labels.csv has the same rows.</p></noscript>\n" +
            std::string(kViewer);
  }
  Page made{.title = "Labels that look wrong - " + page.title,
            .policy = kLabelsPolicy,
            .styles = {kLabelsStyle},
            .content = std::move(html)};
  if (!page.labels.empty()) {
    made.data = data_of(page);
    made.scripts = {kLabelsScript};
  }
  return made.html();
}

}  // namespace evener::report
