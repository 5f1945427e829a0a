// Videos and pipes, as a user shows them to evener infer, detect and faces.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/tiny_onnx.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/open/pictures.h"
#include "data/video_helpers.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/faces_helpers.h"
#include "support/infer_helpers.h"
#include "weights/safetensors.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// A detector that was never trained: what it finds means nothing, but is the same every time.
void write_detector(const fs::path& path) {
  const network::Network network =
      network::build("ssdlite_mobilenet_v2", {.input = network::Shape{3, 64, 64}, .classes = 2});
  const inference::ModelFacts facts{.model = "ssdlite_mobilenet_v2",
                                    .classes = {"circle", "square"},
                                    .input = network::Shape{3, 64, 64},
                                    .normalization = data::ChannelStatistics{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
                                    .normalizes_inside = false};
  weights::write_safetensors(path, network::initial_state(network, 3), inference::model_metadata(facts));
}

/// A pipe into which a video is written, which is closed when this ends.
class VideoPipe {
 public:
  VideoPipe(const std::string& pipe, const std::string& bytes) {
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    writing_ = std::thread([=, this] { (file_ = std::ofstream(pipe, std::ios::binary)) << bytes << std::flush; });
  }
  ~VideoPipe() { close(); }
  void close() {
    if (writing_.joinable()) writing_.join();
    file_.close();
  }

 private:
  std::ofstream file_;
  std::thread writing_;
};

class VideosCommand : public Infer {
 protected:
  void SetUp() override {
    Infer::SetUp();
    if (!IsSkipped() && !has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  }
  /// The frames of a video as PNG files, by their numbers.
  void write_frames(const std::string& video, const std::string& folder) const {
    const data::Pictures pictures({video}, data::FrameChoice());
    fs::create_directories(folder_ / folder);
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const data::Picture picture = pictures.read(i);
      std::vector<std::uint8_t> planes(picture.bytes());
      data::write_planes(picture, 3, planes);
      std::ofstream(folder_ / folder / (std::to_string(1000 + i) + ".png"), std::ios::binary)
          << data::encode_png({3, picture.height, picture.width}, planes);
    }
  }
  /// The lines of CSV without their first column.
  static std::vector<std::string> without_files(const std::string& csv) {
    std::vector<std::string> lines;
    for (const std::string& line : lines_of(csv)) lines.push_back(line.substr(line.find(',')));
    return lines;
  }
};

TEST_F(VideosCommand, FramesAreAnsweredAsThePicturesThatTheyAre) {
  const std::string run = trained();
  write_video(file("clip.mp4"), 12, {.codec = "mpeg4", .options = "-q:v 3 -bf 2", .pixels = "yuv420p"});
  write_frames(file("clip.mp4"), "frames");
  const ProgramResult of_video = infer({run, file("clip.mp4"), "--format", "csv"});
  const ProgramResult of_frames = infer({run, file("frames"), "--format", "csv"});
  ASSERT_EQ(of_video.exit_code, 0) << of_video.err;
  ASSERT_EQ(of_frames.exit_code, 0) << of_frames.err;
  EXPECT_THAT(lines_of(of_video.out), SizeIs(1 + 12 * 5));
  EXPECT_EQ(without_files(of_video.out), without_files(of_frames.out));
  const ProgramResult some =
      infer({run, file("clip.mp4"), "--format", "csv", "--topk", "1", "--every", "4", "--frames", "2"});
  ASSERT_THAT(lines_of(some.out), SizeIs(3)) << some.err;
  EXPECT_THAT(lines_of(some.out)[2], HasSubstr("clip.mp4@0.160s,1,"));
}

TEST_F(VideosCommand, BoxesAreThoseOfTheFramesAndAreDrawnOnAVideo) {
  write_detector(file("model.safetensors"));
  write_video(file("clip.mkv"), 6);
  write_frames(file("clip.mkv"), "frames");
  const Words what = {"--confidence", "0.2", "--max-boxes", "4", "--format", "csv"};
  const auto detect = [&](const Words& words) {
    return run_program(joined({"detect", file("model.safetensors")}, joined(words, what)), options());
  };
  const ProgramResult of_video = detect({file("clip.mkv"), "--out", file("found"), "--save"});
  const ProgramResult of_frames = detect({file("frames")});
  ASSERT_EQ(of_video.exit_code, 0) << of_video.err;
  EXPECT_THAT(of_video.err, HasSubstr("no sound"));
  EXPECT_EQ(without_files(of_video.out), without_files(of_frames.out));
  const data::Pictures marked({file("found/pictures/clip.mp4")}, data::FrameChoice());
  ASSERT_EQ(marked.size(), 6U);
  EXPECT_NEAR(marked.time_s(5).value(), 0.2, 1e-3);
  EXPECT_EQ(marked.read(0).width, 64);
  EXPECT_FALSE(fs::exists(folder_ / "found/pictures/index.html")) << "there is no picture";
  const ProgramResult camera = run_program({"detect", file("model.safetensors"), "/dev/null"}, options());
  EXPECT_EQ(camera.exit_code, 1);
  EXPECT_THAT(camera.err, AllOf(HasSubstr("/dev/null"), HasSubstr("no camera")));
}

TEST_F(VideosCommand, StrictRefusesWhatIsCutOrCannotBeOpened) {
  write_detector(file("model.safetensors"));
  write_video(file("whole.mp4"), 40, {.codec = "mpeg4", .options = "-q:v 3 -movflags faststart", .pixels = "yuv420p"});
  const std::string bytes = read_file(file("whole.mp4"));
  fs::create_directories(file("mixed"));
  write_file_atomically(file("mixed/cut.mp4"), std::string_view(bytes).substr(0, bytes.size() * 6 / 10));
  const auto detect = [&](const Words& words) {
    return run_program(joined({"detect", file("model.safetensors"), "--every", "10"}, words), options());
  };
  const ProgramResult told = detect({file("mixed/cut.mp4")});
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_THAT(told.err, AllOf(HasSubstr("cut.mp4' ends early: "), HasSubstr(" of the 40 frames")));
  EXPECT_EQ(detect({file("whole.mp4"), "--strict"}).exit_code, 0);
  const ProgramResult cut = detect({file("mixed/cut.mp4"), "--strict"});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.err, AllOf(HasSubstr("--strict"), HasSubstr(" of the 40 frames")));
  write_file_atomically(file("mixed/empty.mp4"), "");
  const ProgramResult empty = refused({trained(), file("mixed"), "--strict"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_THAT(empty.err, AllOf(HasSubstr("empty.mp4"), HasSubstr("it is empty")));
}

TEST_F(VideosCommand, APipeIsAnsweredUntilItsEnd) {
  const std::string run = trained();
  write_video(file("clip.mkv"), 10);
  VideoPipe pipe(file("pipe"), read_file(file("clip.mkv")));
  RunningProgram program(
      program_path(), {"infer", run, file("pipe"), "--format", "csv", "--topk", "1", "--out", file("out")}, options());
  pipe.close();
  const ProgramResult result = program.finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::size_t answered = lines_of(result.out).size() - 1;
  EXPECT_GE(answered, 1U);
  EXPECT_EQ(record_in(folder_ / "out")["data"]["images"], answered);
}

TEST_F(VideosCommand, CtrlCIsTheEndOfAPipeAndLeavesItsRecord) {
  const std::string run = trained();
  write_video(file("clip.mkv"), 2);
  VideoPipe pipe(file("pipe"), read_file(file("clip.mkv")));  // stays open
  RunningProgram program(program_path(), {"infer", run, file("pipe"), "--format", "csv", "--out", file("out")},
                         options());
  ASSERT_TRUE(program.wait_for("pipe@")) << "a frame is answered as soon as it has come";
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_GE(record_in(folder_ / "out")["data"]["images"], 1);
  EXPECT_TRUE(fs::exists(folder_ / "out/predictions.csv"));
}

TEST_F(VideosCommand, WhatNeedsFilesIsRefused) {
  const std::string run = trained();
  write_video(file("clip.mkv"), 3);
  EXPECT_THAT(refused({run, file("clip.mkv"), "--sort", file("sorted")}).err,
              HasSubstr("frames of a video are no files"));
  write_file_atomically(file("text.mp4"), "no video\n");
  const ProgramResult text = refused({run, file("text.mp4")});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, AllOf(HasSubstr("text.mp4"), HasSubstr("it is no video"), Not(HasSubstr("[mov"))));
}

TEST_F(VideosCommand, WhatNeedsFilesIsRefusedOfAPipeBeforeItIsOpened) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);  // into which nobody writes: opening it would last for ever
  const std::vector<std::pair<Words, std::string>> refusals = {
      {{"infer", "none.pt", file("pipe"), "--sort", file("sorted")}, "frames of a video are no files"},
      {{"infer", "none.pt", file("pipe"), "--scenario", "single-stream"}, "those of a camera or a pipe come once"},
      {{"detect", "none.pt", file("pipe"), "--save", "--out", file("out")}, "--save and --crops need files"},
      {{"detect", "none.pt", file("pipe"), "--crops", file("crops")}, "--save and --crops need files"},
      {{"faces", file("pipe"), "--out", file("out"), "--resume"}, "--resume, --sort and --pairs need files"},
      {{"faces", file("pipe"), "--sort", file("sorted")}, "--resume, --sort and --pairs need files"},
      {{"faces", file("pipe"), "--pairs", file("pairs.csv")}, "--resume, --sort and --pairs need files"}};
  for (const auto& [words, why] : refusals) {
    const ProgramResult result = run_program(words, options());
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
  }
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

class FacesOnVideos : public Faces {
 protected:
  void SetUp() override {
    Faces::SetUp();
    if (IsSkipped()) return;
    if (!has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
    write_tiny_onnx(folder_ / "means.onnx", {.input = {-1, 3, 16, 16}, .axes = {2, 3}});
  }
  /// The command with an embedder that takes no time.
  Words quickly(const Words& more) const {
    return joined({"faces"}, words(joined(more, {"--embedder", file("means.onnx")})));
  }
};

TEST_F(FacesOnVideos, ATrackIsOneFaceWithItsTime) {
  // Its made-up weights find faces everywhere, and the picture hardly changes.
  write_video(file("clip.mkv"), 6);
  write_photo("a.pgm");
  const ProgramResult result = faces({file("clip.mkv"), file("photos"), "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("clip.mkv: "), HasSubstr(" on 6 frames make ")));
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv"), all = rows_of(folder_ / "out/tracks.csv");
  ASSERT_FALSE(all.empty());
  std::size_t of_video = 0, frames = 0;
  for (const Row& row : rows) {
    if (row.at("first_s").empty()) {
      EXPECT_EQ(row.at("file"), file("photos/a.pgm"));
      continue;
    }
    ++of_video;
    frames += std::stoul(row.at("frames"));
    EXPECT_LE(std::stod(row.at("first_s")), std::stod(row.at("last_s")));
    EXPECT_THAT(row.at("file"), HasSubstr("clip.mkv@0."));
  }
  EXPECT_EQ(frames, all.size()) << "each face is of one track";
  EXPECT_LT(of_video, all.size());
  EXPECT_THAT(read_file(folder_ / "out/faces.html"), AllOf(HasSubstr("#t=0."), HasSubstr("from 0.0 s to ")));
  write_file_atomically(file("empty.mp4"), "");
  write_file_atomically(file("cut.pgm"), "P5\n44 40\n255\ncut short");
  const Words both = {file("clip.mkv"), file("empty.mp4"), file("cut.pgm"), "--every", "4", "--out", file("some")};
  ASSERT_EQ(faces(both).exit_code, 0);
  EXPECT_EQ(record_in(folder_ / "some")["data"]["skipped"], 2) << "a video that can't be opened, and a photo";
  for (const Row& row : rows_of(folder_ / "some/tracks.csv")) EXPECT_THAT(row.at("time_s"), AnyOf("0.000", "0.160"));
  EXPECT_THAT(refused(joined(both, {"--overwrite", "--strict"})).err, HasSubstr("empty.mp4: it is empty"));
  const ProgramResult again = faces({file("clip.mkv"), file("photos"), "--out", file("out"), "--resume"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("7 known from before, 0 new"));
  EXPECT_EQ(rows_of(folder_ / "out/faces.csv"), rows);
}

TEST_F(FacesOnVideos, FramesOfAPipeAreLookedAtUntilItsEnd) {
  write_video(file("clip.mkv"), 6);
  VideoPipe pipe(file("pipe"), read_file(file("clip.mkv")));
  RunningProgram program(program_path(), quickly({file("pipe"), "--out", file("out"), "--every", "2"}), options());
  pipe.close();
  const ProgramResult result = program.finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("frames of " + file("pipe") + " as they come on cpu/t1: 1 thread"));
  const auto frames = record_in(folder_ / "out")["data"]["images"].get<int>();
  EXPECT_THAT(frames, AllOf(testing::Ge(1), testing::Le(3)));
  EXPECT_THAT(result.out, AllOf(HasSubstr("on " + std::to_string(frames) + " photo"), HasSubstr(file("pipe") + ": ")));
  EXPECT_EQ(frames < 3, result.err.find("dropped: they came too fast") != std::string::npos) << result.err;
  const std::vector<Row> rows = rows_of(folder_ / "out/faces.csv");
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) EXPECT_THAT(row.at("file"), HasSubstr("pipe@0."));
  for (const Row& row : rows_of(folder_ / "out/tracks.csv")) {
    EXPECT_THAT(row.at("time_s"), AnyOf("0.000", "0.080", "0.160"));
  }
}

TEST_F(FacesOnVideos, CtrlCIsTheEndOfAPipeWhoseFacesAreKept) {
  write_video(file("clip.mkv"), 2);
  VideoPipe pipe(file("pipe"), read_file(file("clip.mkv")));  // stays open, and brings no other face
  RunningProgram program(program_path(), quickly({file("pipe"), "--out", file("out"), "--every", "2"}), options());
  const fs::path journal = folder_ / "out/faces.journal";
  constexpr std::uintmax_t kAFrame = 5000;  // bytes, and more than the settings have
  for (int i = 0; i < 200000 && (!fs::exists(journal) || fs::file_size(journal) < kAFrame); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("stopped; the faces until then are kept"));
  EXPECT_FALSE(rows_of(folder_ / "out/tracks.csv").empty());
  EXPECT_GE(record_in(folder_ / "out")["data"]["images"], 1);
}

TEST_F(FacesOnVideos, APipeWhoseReaderFailsIsToldAndItsFacesAreKept) {
  write_video(file("clip.mkv"), 3);
  VideoPipe pipe(file("pipe"), read_file(file("clip.mkv")));
  const MadeUpProgram killed(folder_ / "programs", "ffmpeg", "$real \"$@\"; kill -9 $$");
  RunningProgram program(program_path(), quickly({file("pipe"), "--out", file("out")}), options());
  pipe.close();
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(file("pipe") + ": ffmpeg ended with signal 9"),
                                HasSubstr("the faces until then are in " + file("out"))));
  EXPECT_FALSE(rows_of(folder_ / "out/faces.csv").empty());
}

}  // namespace
}  // namespace evener::test
