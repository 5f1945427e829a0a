#include "infer/share/share_page.h"

#include <fmt/format.h>

#include "base/names.h"
#include "record/metric.h"
#include "record/statistics.h"
#include "report/format.h"
#include "report/html.h"
#include "report/html_parts.h"

namespace evener::inference {
namespace {

constexpr std::size_t kMostClassesNamed = 12;  // limit of classes named in a sentence

std::string figure(const std::string& name, const std::string& value) {
  return "<div><dt>" + name + "</dt><dd>" + report::escape_html(value) + "</dd></div>";
}

std::string quality_card(const SharedNetwork& shared) {
  const auto metrics = record::metrics_of(shared.judging.record);
  const record::Metric* accuracy = record::find_metric(metrics, "accuracy");
  const record::Metric* speed = record::find_metric(metrics, "network_images_per_s");
  std::string html = "<div class=\"card run single\">";
  if (accuracy != nullptr && accuracy->value && accuracy->of_images) {
    html += fmt::format(
        "<p class=\"big\">{} <small>of {} images were recognised</small></p><p class=\"interval\">Of many images like "
        "these it would be {}, which is known with a certainty of 95 %.</p>",
        report::percent_text(*accuracy->value), *accuracy->of_images,
        record::share_interval_text(*accuracy->value, *accuracy->of_images));
  }
  html += "<dl>";
  html += figure("learnt from", fmt::format("{} images", shared.training.record.data.train.value_or(0)));
  html += figure("size", bytes_text(shared.weight_bytes));
  if (speed != nullptr && speed->value) {
    html += figure("speed on this computer", report::number_text(*speed->value) + " images per second");
  }
  if (!shared.judging.record.machine.cpu.empty()) html += figure("computer", shared.judging.record.machine.cpu);
  return html + "</dl></div>";
}

std::string commands_section(const SharedNetwork& shared) {
  const std::string run = shared.folder.string();
  const auto step = [](const std::string& what, const std::vector<std::string>& command) {
    return "<h3>" + what + "</h3><pre>" + report::command_html(command) + "</pre>";
  };
  return "<section><h2>How to use it</h2><div class=\"card\">" +
         step("Sort other photos by what is on them", {"evener", "infer", run, "photos/", "--sort", "sorted/"}) +
         "<br>" + step("Make it smaller and faster", {"evener", "quantize", run, "--out", run + "-int8"}) + "<br>" +
         step("Give it to other programs, as ONNX", {"evener", "export", run, "--onnx", "network.onnx"}) +
         "</div></section>";
}

}  // namespace

std::string share_page(const SharedNetwork& shared) {
  const record::Record& training = shared.training.record;
  const std::string title = "Tells " + report::listed(training.data.classes, kMostClassesNamed) + " apart";
  const std::string header =
      "<header><p class=\"brand\"><b>evener</b> a trained network</p><h1>" + report::escape_html(title) +
      "</h1><p class=\"lead\">" +
      report::escape_html(
          fmt::format("A {} that was shown images of {} classes, and then these, which it had not learnt from{}.",
                      training.model.name, training.data.classes.size(),
                      shared.judging.record.confusion.part == "validation"
                          ? " (they chose the best of its states: others may come out a little worse)"
                          : "")) +
      "</p></header>";
  const std::span<const report::Run> trained(&shared.training, 1), judged(&shared.judging, 1);
  const std::string sections = "<section>" + quality_card(shared) + "</section>\n" + report::warnings_part(trained) +
                               "\n" + report::classes_part(judged) + "\n" + shared.predictions.html + "\n" +
                               commands_section(shared);
  report::Page page = report::report_page(title);
  page.styles.push_back(shared.predictions.style);
  page.content = report::report_content(header, "", sections, false);
  return page.html();
}

}  // namespace evener::inference
