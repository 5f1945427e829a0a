// evener faces that goes on with what an earlier run has left: more photos, and runs that were ended.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/paths.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/faces_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::joined;
using test::ProgramResult;
using test::Row;
using test::rows_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

class FacesResumed : public test::Faces {};

TEST_F(FacesResumed, AnotherRunLooksAtNewPhotosOnly) {
  write_photo("a.pgm");
  write_photo("gone.pgm");
  write_photo("small.pgm", 8, 8);
  const Words first = {file("photos"), "--out", file("out")};
  const Words again = joined(first, {"--resume"});
  ASSERT_EQ(faces(again).exit_code, 0) << "nothing there yet: it begins";
  const std::vector<Row> before = rows_of(folder_ / "out/faces.csv");
  const ProgramResult begun = refused(first);
  EXPECT_EQ(begun.exit_code, 2);
  EXPECT_THAT(begun.err, AllOf(HasSubstr("holds faces already"), HasSubstr("--resume"), HasSubstr("--overwrite")));
  const ProgramResult other = refused(joined(again, {"--min-size", "24"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--min-size 20, not with 24"));
  const fs::path part = weights() / "pnet.safetensors";
  fs::rename(part, weights() / "kept");
  weights::write_safetensors(part, network::initial_state(network::build("mtcnn_pnet", {}), 2));
  EXPECT_THAT(refused(again).err, HasSubstr("were found with --detector-weights files of content"));
  fs::rename(weights() / "kept", part);
  EXPECT_EQ(rows_of(folder_ / "out/faces.csv"), before) << "a refused run leaves what was there";

  fs::rename(folder_ / "photos/a.pgm", folder_ / "photos/renamed.pgm");
  fs::remove(folder_ / "photos/gone.pgm");
  write_photo("new.pgm");
  const ProgramResult more = faces(joined(again, {"--limit", "0.5"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("2 known from before, 1 new, 1 no longer there."));
  EXPECT_THAT(more.err, AllOf(HasSubstr("no longer there: " + file("photos/gone.pgm")), HasSubstr("1 new photo on")));
  const auto boxes_on = [](const std::vector<Row>& rows, const std::string& name) {
    Words boxes;
    for (const Row& row : rows) {
      if (row.at("file") == name) boxes.push_back(row.at("x1") + " " + row.at("y2") + " " + row.at("probability"));
    }
    return boxes;
  };
  const std::vector<Row> after = rows_of(folder_ / "out/faces.csv");
  EXPECT_EQ(boxes_on(after, file("photos/renamed.pgm")), boxes_on(before, file("photos/a.pgm")));
  EXPECT_FALSE(boxes_on(after, file("photos/new.pgm")).empty());
  EXPECT_TRUE(boxes_on(after, file("photos/gone.pgm")).empty());
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("renamed.pgm")) << "with its thumbnails";
  // Nothing has changed since. What the embedder was without stays on the page.
  EXPECT_THAT(faces(again).out, HasSubstr("3 known from before, 0 new, 0 no longer there."));
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), HasSubstr("has random weights"));
  // A whole run over the same photos gives the same.
  ASSERT_EQ(faces({file("photos"), "--out", file("whole")}).exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "out/faces.csv"), read_file(folder_ / "whole/faces.csv"));
}

TEST_F(FacesResumed, AnInterruptedRunSaysHowToGoOn) {
  for (int i = 0; i < 60; ++i) write_photo("p" + std::to_string(i) + ".pgm", 60, 50);
  test::RunningProgram program(test::program_path(), joined({"faces"}, words({file("photos"), "--out", file("out")})),
                               options());
  ASSERT_TRUE(program.wait_for("60 photos on cpu"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, AllOf(HasSubstr("of 60 photos"), HasSubstr("--resume goes on")));
}

TEST_F(FacesResumed, AKilledRunGoesOn) {
  for (int i = 0; i < 30; ++i) write_photo("p" + std::to_string(i) + ".pgm", 60, 50);
  const Words words = joined({"faces"}, this->words({file("photos"), "--out", file("out"), "--chunk", "1"}));
  {
    test::RunningProgram killed(test::program_path(), words, options());
    // Some photos long: one that is half written doesn't count.
    constexpr std::uintmax_t kSomePhotosBytes = 600'000;
    const fs::path journal = folder_ / "out/faces.journal";
    for (int i = 0; i < 200000 && (!fs::exists(journal) || fs::file_size(journal) < kSomePhotosBytes); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    killed.send(SIGKILL);
    killed.finish();
  }
  EXPECT_FALSE(rows_of(folder_ / "out/faces.csv").empty()) << "what it had found";
  EXPECT_FALSE(rows_of(folder_ / "out/chunks.csv").empty()) << "what that cost";
  const ProgramResult result = faces({file("photos"), "--out", file("out"), "--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("on 30 photos"), HasSubstr("known from before"), Not(HasSubstr("\n0 known")),
                                Not(HasSubstr(" 30 new"))));
}

}  // namespace
}  // namespace evener
