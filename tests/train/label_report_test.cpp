// What is told of labels that look wrong: the text, the sums as JSON, the table, and the page with its pictures.
#include "train/labels/label_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "data/codecs/decode.h"
#include "sweep/asked_sweep.h"

namespace evener::training {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Seven labels in doubt, of 42.
LabelFindings some_findings() {
  LabelFindings findings;
  findings.location = "photos/";
  findings.images = 42;
  findings.found = {{5, "a,1.png", "ant", "Fu\xC3\x9F", 0.9, 0.05, 0.925, LabelDoubt::kWrong, "train"},
                    {2, "b.png", "bee", "ant", 0.75, 0.25, 0.75, LabelDoubt::kWrong, "test"},
                    {9, "long/c.png", "bee", "ant", 0.625, 0.375, 0.625, LabelDoubt::kWrong, "train"},
                    {7, "d.png", "", "bee", 0.5, 0.4, 0.55, LabelDoubt::kLikely, ""},
                    {1, "e.png", "ant", "bee", 0.45, 0.4, 0.525, LabelDoubt::kBoth, "new"},
                    {3, "f.png", "ant", "bee", 0.2, 0.1, 0.55, LabelDoubt::kNeither, "train"},
                    {4, "g.png", "ant", "bee", 0.15, 0.15, 0.5, LabelDoubt::kNeither, "train"}};
  findings.pairs = {{"bee", "ant", 2, 3.4, 0.17}, {"ant", "Fu\xC3\x9F", 1, 1.6, 0.08}};
  findings.estimated = 5.2;
  findings.accuracy = 0.8125;
  findings.judged_by = "heads on pixels";
  findings.notes = {"a note"};
  findings.skipped = {{"x.png", "broken"}, {"y.png", "broken"}, {"z.png", "broken"}};
  return findings;
}

TEST(LabelReport, TellsTheWorstThePairsAndTheSums) {
  EXPECT_EQ(labels_text(some_findings()),
            "score  kind     label  looks like  P     P of label  file\n"
            "0.93   wrong    ant    Fu\xC3\x9F         0.90  0.05        a,1.png\n"
            "0.75   wrong    bee    ant         0.75  0.25        b.png\n"
            "0.62   wrong    bee    ant         0.62  0.38        long/c.png\n"
            "0.55   likely   -      bee         0.50  0.40        d.png\n"
            "0.53   both     ant    bee         0.45  0.40        e.png\n"
            "0.55   neither  ant    bee         0.20  0.10        f.png\n"
            "0.50   neither  ant    bee         0.15  0.15        g.png\n"
            "\n"
            "label  looks like  found  estimated  of the label\n"
            "bee    ant         2      3          17.0 %\n"
            "ant    Fu\xC3\x9F         1      2          8.0 %\n"
            "\n"
            "3 of 42 labels look wrong, and 1 may well be; 5 (12.4 %) are estimated to be; 1 looks like both classes; "
            "2 look like none.\n"
            "Judged by heads on pixels.\n");
  LabelFindings other = some_findings();
  other.found = {other.found[4], other.found[4], other.found[5]};
  EXPECT_THAT(labels_text(other), HasSubstr("\n0 of 42 labels look wrong; 5 (12.4 %) are estimated to be; 2 look like "
                                            "both classes; 1 looks like none.\n"));
  LabelFindings none;
  none.judged_by = "nothing";
  EXPECT_EQ(labels_text(none), "0 of 0 labels look wrong; 0 (0.0 %) are estimated to be.\nJudged by nothing.\n");
}

TEST(LabelReport, TellsTwentyLabelsAndTenPairsAndHowManyMore) {
  LabelFindings findings = some_findings();
  findings.found.resize(20, findings.found.back());
  findings.pairs.resize(10, findings.pairs.back());
  findings.found[19].file = "last.png";
  findings.pairs[9].label = "last";
  EXPECT_THAT(labels_text(findings),
              testing::AllOf(HasSubstr("last.png"), HasSubstr("\nlast "), Not(HasSubstr("more"))));
  findings.found.resize(23, findings.found[0]);
  findings.pairs.resize(12, findings.pairs[0]);
  const std::string text = labels_text(findings);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("last.png\nand 3 more\n"), HasSubstr("\nand 2 more\n\n")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 20 + 1 + 1 + 1 + 10 + 1 + 1 + 2);
}

TEST(LabelReport, TellsTheSumsAsJson) {
  EXPECT_EQ(json::parse(labels_json(some_findings()).dump()), json::parse(R"({"schema": 1, "kind": "data labels",
      "location": "photos/", "images": 42, "labels": 42,
      "found": {"wrong": 3, "likely": 1, "both": 1, "neither": 2}, "judged_by": "heads on pixels",
      "notes": ["a note"], "skipped": 3, "estimated": 5.2, "share": )" + json(5.2 / 42).dump() +
                                                                          R"(, "accuracy": 0.8125,
      "pairs": [{"label": "bee", "suggested": "ant", "found": 2, "estimated": 3.4, "share": 0.17},
                {"label": "ant", "suggested": "Fuß", "found": 1, "estimated": 1.6, "share": 0.08}]})"));
}

/// A picture of one colour, but for its first pixel.
data::Picture picture_of(std::int64_t channels, std::int64_t height, std::int64_t width, std::uint8_t value) {
  data::Picture picture = data::Picture::unset(channels, height, width);
  std::fill_n(picture.pixels.get(), picture.bytes(), value);
  picture.pixels[0] = 255;
  return picture;
}

/// What the page's script gets.
json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// The picture in an address that holds it.
data::Picture picture_in(const std::string& address, const std::string& type) {
  const std::string head = "data:image/" + type + ";base64,";
  EXPECT_TRUE(address.starts_with(head)) << address.substr(0, 40);
  return data::decode_picture(from_base64(address.substr(head.size())).value());
}

TEST(LabelFiles, AreATableAndAPageWithThePictures) {
  const test::TestFolder folder;
  test::write_text(folder / "photos/b 1.png", "a file");
  LabelFindings findings = some_findings();
  findings.skipped.clear();
  findings.found[1].file = (folder / "photos/b 1.png").string();
  findings.picture = [](std::size_t index) {
    if (index == 9) throw Error("it is gone");
    if (index == 5) return picture_of(3, 40, 96, 200);
    if (index == 2) return picture_of(3, 130, 520, 90);
    return index == 7 ? picture_of(1, 97, 20, 60) : picture_of(1, 2, 3, static_cast<std::uint8_t>(index));
  };
  test::Notes notes;
  write_label_files(findings, folder / "out/doubts", notes);
  EXPECT_EQ(read_file(folder / "out/doubts/labels.csv"),
            "file,label,suggested,probability,label_probability,score,kind,part\n"
            "\"a,1.png\",ant,Fu\xC3\x9F,0.9000,0.0500,0.9250,wrong,train\n" +
                (folder / "photos/b 1.png").string() +
                ",bee,ant,0.7500,0.2500,0.7500,wrong,test\n"
                "long/c.png,bee,ant,0.6250,0.3750,0.6250,wrong,train\n"
                "d.png,,bee,0.5000,0.4000,0.5500,likely,\n"
                "e.png,ant,bee,0.4500,0.4000,0.5250,both,new\n"
                "f.png,ant,bee,0.2000,0.1000,0.5500,neither,train\n"
                "g.png,ant,bee,0.1500,0.1500,0.5000,neither,train\n");
  ASSERT_EQ(findings.skipped.size(), 1U) << "a picture that can't be read";
  EXPECT_EQ(findings.skipped[0].file, "long/c.png");
  EXPECT_EQ(findings.skipped[0].reason, "it is gone");

  const std::string page = read_file(folder / "out/doubts/labels.html");
  EXPECT_THAT(page, testing::AllOf(HasSubstr("Labels that look wrong: photos/"), HasSubstr("<p>a note</p>"),
                                   HasSubstr("<p>3 of 42 labels look wrong, and"),
                                   HasSubstr("<p>Judged by heads on pixels.</p>"), Not(HasSubstr("The page shows"))));
  const json data = data_of(page);
  EXPECT_EQ(data["noun"], "label");
  EXPECT_EQ(data["classes"], json::parse(R"([["wrong", "#d55e00"], ["likely", "#e69f00"], ["both", "#0072b2"],
                                             ["neither", "#5b6b7b"]])"));
  const json& shown = data["pictures"];
  ASSERT_EQ(shown.size(), 6U) << "all but the one that can't be read";
  EXPECT_EQ(shown[0]["told"], "labelled ant (5 %), looks like Fu\xC3\x9F (90 %); train");
  EXPECT_EQ(shown[0]["picture"], "") << "there is no such file";
  EXPECT_EQ(shown[0]["boxes"], json::parse("[[0, 0.925, 0, 0, 0, 0]]"));
  EXPECT_EQ(shown[0]["size"], json({96, 40}));
  EXPECT_EQ(shown[1]["file"], (folder / "photos/b 1.png").string());
  EXPECT_EQ(shown[1]["picture"], "../../photos/b%201.png");
  EXPECT_EQ(shown[1]["size"], json({520, 130})) << "of the picture, not of what is shown";
  EXPECT_EQ(shown[2]["told"], "labelled  (40 %), looks like bee (50 %)");
  EXPECT_EQ(shown[2]["boxes"][0][0], 1);
  EXPECT_EQ(shown[5]["boxes"], json::parse("[[3, 0.5, 0, 0, 0, 0]]"));

  const data::Picture tiny = picture_in(shown[0]["small"], "png"), small = picture_in(shown[1]["small"], "jpeg"),
                      as_it_is = picture_in(shown[2]["small"], "jpeg"), grey = picture_in(shown[3]["small"], "png");
  EXPECT_THAT((std::array{tiny.channels, tiny.height, tiny.width}), ElementsAre(3, 40, 96));
  EXPECT_EQ(tiny.pixels[0], 255);
  EXPECT_EQ(tiny.pixels[1], 200);
  EXPECT_THAT((std::array{small.channels, small.height, small.width}), ElementsAre(3, 65, 260));
  EXPECT_NEAR(small.row(60)[100], 90, 3);
  EXPECT_THAT((std::array{as_it_is.height, as_it_is.width}), ElementsAre(97, 20)) << "not enlarged";
  EXPECT_NEAR(as_it_is.row(90)[15 * as_it_is.channels], 60, 3);
  EXPECT_THAT((std::array{grey.channels, grey.height, grey.width}), ElementsAre(1, 2, 3));
  EXPECT_EQ(grey.row(1)[2], 1) << "the picture of the finding's index";
}

TEST(LabelFiles, ShowTheWorstThousandAndEndWithAStop) {
  const test::TestFolder folder;
  LabelFindings findings = some_findings();
  findings.found.resize(1001, findings.found[0]);
  findings.found[999].file = "last.png";
  findings.picture = [](std::size_t) { return picture_of(1, 1, 1, 0); };
  test::Notes notes;
  write_label_files(findings, folder.path(), notes);
  const std::string page = read_file(folder / "labels.html");
  EXPECT_THAT(page, HasSubstr("The page shows the worst 1000 of 1001; labels.csv has all."));
  EXPECT_EQ(data_of(page)["pictures"].size(), 1000U);
  EXPECT_EQ(data_of(page)["pictures"][999]["file"], "last.png");
  EXPECT_EQ(std::ranges::count(read_file(folder / "labels.csv"), '\n'), 1 + 1001);
  findings.found.resize(1);
  findings.picture = [](std::size_t) -> data::Picture { throw Interrupted("stopped"); };
  EXPECT_THROW(write_label_files(findings, folder / "other", notes), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(folder / "other/labels.html"));
}

TEST(LabelFiles, AreReplacedOnlyWhereThatIsAskedFor) {
  const test::TestFolder folder;
  const auto refusal = [&](const std::string& place, bool overwrite) {
    return test::plan_refusal([&] { require_place_for_labels(folder / place, overwrite); });
  };
  for (const std::string name : {"labels.csv", "labels.html"}) {
    EXPECT_EQ(refusal(name + "-folder", false), "it was taken");
    EXPECT_FALSE(std::filesystem::exists(folder / (name + "-folder")));
    test::write_text(folder / (name + "-folder/" + name), "");
    EXPECT_EQ(refusal(name + "-folder", false),
              "'" + (folder / (name + "-folder/" + name)).string() +
                  "' is there already: give another --out, or --overwrite to replace it");
    EXPECT_EQ(refusal(name + "-folder", true), "it was taken");
  }
}

}  // namespace
}  // namespace evener::training
