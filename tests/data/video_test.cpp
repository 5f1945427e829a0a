// Videos: which frames are found and under what names, their pixels, and what is told of files that are no videos.
// Frames of a source that doesn't wait: which are looked at, and which are dropped.
#include "data/video/video.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "data/data_helpers.h"
#include "data/open/pictures.h"
#include "data/video/video_files.h"
#include "data/video/video_frames.h"
#include "data/video_helpers.h"

namespace evener::data {
namespace {

using namespace evener::test;
using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

MadeVideo mpeg4(const std::string& options) {
  MadeVideo made = kMpeg4;
  made.options += " " + options;
  return made;
}

class Videos : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_ffmpeg()) GTEST_SKIP() << "the program ffmpeg is not installed";
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string video(const std::string& name, int count, const MadeVideo& made = {}) const {
    write_video(path(name), count, made);
    return path(name);
  }
  Pictures frames(const std::string& file, const FrameChoice& choice = {}) const { return Pictures({file}, choice); }
  std::vector<std::string> names(const Pictures& pictures) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < pictures.size(); ++i) found.push_back(fs::path(pictures.source(i)).filename().string());
    return found;
  }
  /// Why the only place that is named can't be looked at.
  std::string refusal(const std::string& file) const {
    try {
      frames(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  }

  TemporaryFolder folder_;
};

/// The largest difference of two pictures' values; 256 where their sizes differ.
int difference(const Picture& a, const Picture& b) {
  if (a.channels != b.channels || a.height != b.height || a.width != b.width) return 256;
  int most = 0;
  for (std::size_t i = 0; i < a.bytes(); ++i) most = std::max(most, std::abs(a.pixels[i] - b.pixels[i]));
  return most;
}

/// A picture whose pixels lie where a matrix maps their places.
Picture mapped(const Picture& picture, int a, int b, int c, int d) {
  Picture turned =
      a == 0 ? Picture::unset(3, picture.width, picture.height) : Picture::unset(3, picture.height, picture.width);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const std::int64_t to_x = a * x + c * y, to_y = b * x + d * y;
      std::copy_n(
          picture.row(y) + 3 * x, 3,
          turned.row(to_y + (b + d < 0 ? turned.height - 1 : 0)) + 3 * (to_x + (a + c < 0 ? turned.width - 1 : 0)));
    }
  }
  return turned;
}

TEST_F(Videos, FramesAreNamedByTheirTimesAndKeepTheirPixels) {
  const Pictures pictures = frames(video("clip.mkv", 5));
  EXPECT_THAT(names(pictures), ElementsAre("clip.mkv@0.000s", "clip.mkv@0.040s", "clip.mkv@0.080s", "clip.mkv@0.120s",
                                           "clip.mkv@0.160s"));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(difference(pictures.read(static_cast<std::size_t>(i)), numbered_frame(i)), 0) << i;
  EXPECT_EQ(pictures.file(3), path("clip.mkv"));
  EXPECT_DOUBLE_EQ(pictures.time_s(2).value(), 0.08);
}

TEST_F(Videos, FramesThatAreStoredOutOfOrderComeInTheOrderInWhichTheyAreShown) {
  for (const char* name : {"clip.mp4", "clip.avi", "clip.ts", "clip.mov"}) {
    const Pictures pictures = frames(video(name, 30, mpeg4("-g 12 -bf 2")));
    ASSERT_EQ(pictures.size(), 30U) << name;
    for (int i = 0; i < 30; ++i) {
      // The nearest of all frames is the one of that number: the square's place tells.
      const Picture read = pictures.read(static_cast<std::size_t>(i));
      EXPECT_LT(difference(read, numbered_frame(i)), 100) << name << " frame " << i;
    }
  }
}

TEST_F(Videos, ManyThreadsGetTheFramesThatOneGets) {
  const std::string file = video("clip.mp4", 60, mpeg4("-g 10 -bf 2"));
  const Pictures one = frames(file);
  std::vector<Picture> expected;
  for (std::size_t i = 0; i < one.size(); ++i) expected.push_back(one.read(i));
  const Pictures shared = frames(file);
  std::atomic<std::size_t> next = 0;
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    for (std::size_t i = next++; i < shared.size(); i = next++) {
      if (difference(shared.read(i), expected[i]) != 0) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(read);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Backwards, which no decoder goes.
  for (const std::size_t i : {59U, 7U, 8U, 30U, 0U}) EXPECT_EQ(difference(shared.read(i), expected[i]), 0) << i;
}

TEST_F(Videos, EveryTenthFrameIsTheSameAsOfAllWhetherSoughtOrNot) {
  const std::string file = video("clip.mp4", 100, mpeg4("-g 5 -bf 0"));
  const Pictures all = frames(file), some = frames(file, {.every = 40});
  EXPECT_THAT(names(some), ElementsAre("clip.mp4@0.000s", "clip.mp4@1.600s", "clip.mp4@3.200s"));
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(difference(some.read(i), all.read(40 * i)), 0) << i;
}

TEST_F(Videos, ATimeAndAnUpperLimitChooseFrames) {
  const std::string file = video("clip.mkv", 60);
  EXPECT_THAT(names(frames(file, parse_every("1s"))),
              ElementsAre("clip.mkv@0.000s", "clip.mkv@1.000s", "clip.mkv@2.000s"));
  FrameChoice two = parse_every("10");
  two.most = 2;
  EXPECT_THAT(names(frames(file, two)), ElementsAre("clip.mkv@0.000s", "clip.mkv@0.400s"));
  video("more.mkv", 5);
  two.most = 7;
  EXPECT_THAT(Pictures({file, path("more.mkv")}, two).size(), 7U) << "of both together, six of the first";
}

TEST_F(Videos, PlayersAndWeTurnThemOnce) {
  const MadeVideo made{.codec = "mjpeg", .options = "-q:v 2", .pixels = "yuvj444p"};
  const struct {
    int a, b, c, d;
    double size;
  } kMatrices[] = {{0, 1, -1, 0, 1},  {-1, 0, 0, -1, 1}, {0, -1, 1, 0, 1}, {-1, 0, 0, 1, 1},  {1, 0, 0, -1, 1},
                   {0, 1, 1, 0, 0.5}, {0, -1, -1, 0, 1}, {1, 0, 0, 1, 2},  {0, 1, -1, 0, 1.5}};
  for (const auto& [a, b, c, d, size] : kMatrices) {
    MadeVideo turned = made;
    turned.matrix = {a * size, b * size, c * size, d * size};
    const Pictures pictures = frames(video("clip.mov", 2, turned));
    // JPEG's losses are at the square's edges.
    EXPECT_LT(difference(pictures.read(1), mapped(numbered_frame(1), a, b, c, d)), 60) << a << b << c << d;
    EXPECT_THAT(pictures.notes(), IsEmpty());
  }
  MadeVideo slanted = made;
  slanted.matrix = {0.866, 0.5, -0.5, 0.866};
  const Pictures pictures = frames(video("clip.mov", 2, slanted));
  EXPECT_LT(difference(pictures.read(1), numbered_frame(1)), 60);
  EXPECT_THAT(pictures.notes(), ElementsAre(AllOf(HasSubstr("clip.mov"), HasSubstr("turned by 30 degrees"))));
}

TEST_F(Videos, AreRecognisedByContentAndNotOnlyByName) {
  fs::rename(video("clip.mkv", 3), path("clip"));
  EXPECT_EQ(frames(path("clip")).size(), 3U);
  fs::rename(path("clip"), path("clip.jpg"));
  EXPECT_EQ(frames(path("clip.jpg")).size(), 3U);
}

TEST_F(Videos, OfAFolderWithPicturesAreTakenWhereTheyAreSpokenOf) {
  video("clip.mkv", 3);
  write_bytes(folder_ / "photo.png", plain_png(4, 4, {1, 2, 3}));
  const std::string all = folder_.path().string();
  const Pictures photos = frames(all);
  EXPECT_THAT(names(photos), ElementsAre("photo.png"));
  EXPECT_THAT(photos.notes(), ElementsAre(AllOf(HasSubstr("1 video beside the pictures"), HasSubstr("--every 1s"))));
  EXPECT_THAT(names(frames(all, {.every = 2})), ElementsAre("clip.mkv@0.000s", "clip.mkv@0.080s", "photo.png"));
  EXPECT_THAT(names(frames(path("*.mkv"))), SizeIs(3)) << "a pattern names them";
  fs::remove(path("photo.png"));
  EXPECT_THAT(names(frames(all)), SizeIs(3)) << "there is nothing else";
  EXPECT_THROW(Pictures({all}), Error) << "who doesn't take videos finds nothing";
}

TEST_F(Videos, WhatIsNoneIsRefusedWithTheReason) {
  write_bytes(folder_ / "empty.mp4", "");
  EXPECT_THAT(refusal(path("empty.mp4")), HasSubstr("it is empty"));
  write_bytes(folder_ / "text.mp4", "this is no video, but a text that somebody has named so\n");
  EXPECT_THAT(refusal(path("text.mp4")), HasSubstr("it is no video"));
  write_bytes(folder_ / "list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nhttp://127.0.0.1:9/a.ts\n");
  EXPECT_THAT(refusal(path("list.mp4")), HasSubstr("it is no video")) << "a playlist would open other places";
  video("none.mkv", 0);
  EXPECT_NE(refusal(path("none.mkv")), "taken");
}

TEST_F(Videos, OneThatIsCutShortIsReadUpToThereAndTold) {
  const struct {
    const char* name;
    std::string options, told;
  } kCut[] = {{"cut.mkv", "-q:v 3", "frames in "},
              {"cut.avi", "-q:v 3", " of the 150 frames that its container promises came"},
              {"cut.mp4", "-q:v 3 -movflags faststart", " of the 150 frames that its container promises came"}};
  for (const auto& [name, options, told] : kCut) {
    const std::string whole = read_file(video(name, 150, {.codec = "mpeg4", .options = options, .pixels = "yuv420p"}));
    EXPECT_THAT(frames(path(name)).notes(), IsEmpty()) << name;
    write_bytes(folder_ / name, whole.substr(0, whole.size() * 6 / 10));
    const Pictures pictures = frames(path(name));
    ASSERT_GT(pictures.size(), 10U) << name;
    EXPECT_LT(pictures.size(), 120U) << name;
    EXPECT_LT(difference(pictures.read(9), numbered_frame(9)), 100) << name;
    EXPECT_THAT(pictures.notes(), ElementsAre(AllOf(HasSubstr(name), HasSubstr("ends early: "), HasSubstr(told),
                                                    HasSubstr(": " + std::to_string(pictures.size()) + " "))));
    EXPECT_THAT(error_of([&] { pictures.require_all(); }), AllOf(HasSubstr(name), HasSubstr(told)));
    EXPECT_EQ(frames(path(name), {.every = 2, .most = 3}).size(), 3U);
  }
  const std::string mp4 = read_file(video("clip.mp4", 40, kMpeg4));
  write_bytes(folder_ / "cut.mp4", mp4.substr(0, mp4.size() / 2));
  EXPECT_THAT(refusal(path("cut.mp4")), HasSubstr("cut short")) << "its table of frames was at the end";
}

TEST_F(Videos, ThatAreWholeAreNotSaidToBeCut) {
  video("plain.mp4", 40, mpeg4("-g 8 -bf 2"));
  const auto copied = [&](const std::string& before, const std::string& after) {
    run_ffmpeg(before + " -i '" + path("plain.mp4") + "' -c copy " + after);
    return path(after.substr(after.rfind(' ') + 1));
  };
  const fs::path back = fs::current_path();
  fs::current_path(folder_.path());
  std::vector<std::string> files = {copied("-ss 0.48", "trimmed.mp4"), copied("", "-output_ts_offset 7.25 late.mp4"),
                                    copied("", "-output_ts_offset 7.25 late.mkv"), video("whole.ts", 40, kMpeg4),
                                    copied("", "-movflags frag_keyframe+empty_moov pieces.mp4")};
  files.push_back(video("slow.mkv", 5, {.options = "-vf setpts=N*N/TB"}));
  fs::current_path(back);
  for (const std::string& file : files) {
    const Pictures pictures = frames(file);
    EXPECT_THAT(pictures.notes(), IsEmpty()) << file;
    EXPECT_NO_THROW(pictures.require_all());
    EXPECT_NEAR(pictures.time_s(0).value(), 0, 1e-3) << file;
  }
}

TEST_F(Videos, StrictIsWhoWantsAll) {
  video("clip.mkv", 3);
  write_bytes(folder_ / "empty.mp4", "");
  const Pictures pictures = frames(folder_.path().string());
  EXPECT_EQ(pictures.size(), 3U);
  EXPECT_THAT(error_of([&] { pictures.require_all(); }),
              AllOf(HasSubstr("--strict"), HasSubstr("empty.mp4"), HasSubstr("it is empty")));
}

/// A film from frame `first` on that begins at 3 s.
MadeVideo film(int first, const std::string& options) {
  return {.codec = "mpeg2video",
          .options = "-q:v 2 -g 8 -output_ts_offset 3 " + options,
          .pixels = "yuv420p",
          .first = first,
          .rate = "24000/1001"};
}

TEST_F(Videos, PartsOfAJoinedOneFollowOnEachOther) {
  const std::string first = read_file(video("a.ts", 24, film(60, "-bf 2"))),
                    second = read_file(video("b.ts", 30, film(0, "-bf 2"))),
                    whole = read_file(video("c.ts", 30, film(100, "-bf 0")));
  // The beginning is lost, with its key frame.
  write_bytes(folder_ / "joined.ts", whole.substr(whole.size() / 3 / 188 * 188) + first + second);
  const Pictures pictures = frames(path("joined.ts"));
  ASSERT_GT(pictures.size(), 54U + 10U);
  EXPECT_THAT(pictures.notes(), ElementsAre(AllOf(HasSubstr("joined.ts"), HasSubstr("joined from 3 parts"))));
  const std::size_t begin = pictures.size() - 54;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_NEAR(pictures.time_s(i).value(), static_cast<double>(i) * 1001 / 24000, 0.02) << i;
    const std::size_t number = i < begin ? 130 - begin + i : i < begin + 24 ? 60 + i - begin : i - begin - 24;
    try {
      const Picture read = pictures.read(i);
      const auto to = [&](std::size_t frame) { return difference(read, numbered_frame(static_cast<int>(frame))); };
      EXPECT_LT(to(number), std::min(to(number + 1), number == 0 ? 765 : to(number - 1))) << i;
    } catch (const Error&) {
      EXPECT_LT(i, 8U) << "from the next key frame on all are there";
    }
  }
}

TEST_F(Videos, OfSeveralInAFileTheOneIsTakenThatPlayersShow) {
  video("large.mkv", 4);
  video("small.mkv", 4, {.options = "-vf scale=32:24"});
  write_bytes(folder_ / "cover.png", plain_png(96, 96, {1, 2, 3}));
  const std::string both = " -map 0 -map 1 -c copy -default_mode passthrough ",
                    small = "-i '" + path("small.mkv") + "' ", large = "-i '" + path("large.mkv") + "' ",
                    cover = "-i '" + path("cover.png") + "' ";
  const struct {
    std::string name, words;
    int width;
    const char* told;
  } kFiles[] = {
      {"second.mkv", small + large + both + "-disposition:v:0 0 -disposition:v:1 default", 64, "stream 1, of 64x48"},
      {"default.mkv", small + large + both + "-disposition:v:0 default -disposition:v:1 0", 32, "stream 0, of 32x24"},
      {"largest.mkv", small + large + both + "-disposition:v:0 0 -disposition:v:1 0", 64, "stream 1, of 64x48"},
      {"cover.mp4", cover + large + " -map 0 -map 1 -c:v:0 mjpeg -c:v:1 mpeg4 -disposition:v:0 attached_pic", 64, ""}};
  for (const auto& [name, words, width, told] : kFiles) {
    run_ffmpeg(words + " '" + path(name) + "'");
    const Pictures pictures = frames(path(name));
    ASSERT_EQ(pictures.size(), 4U) << name;
    EXPECT_EQ(pictures.read(3).width, width) << name;
    EXPECT_EQ(pictures.notes().size(), *told == 0 ? 0U : 1U) << name;
    for (const std::string& note : pictures.notes()) {
      EXPECT_THAT(note, AllOf(HasSubstr(name), HasSubstr("2 videos"), HasSubstr(told)));
    }
  }
}

TEST_F(Videos, FramesOfMovingPicturesAreTakenWhereTheyAreSpokenOf) {
  const std::string made = "-f rawvideo -pix_fmt rgb24 -framerate 5 -s 4x2 -i '" + path("raw") + "' ";
  std::string raw;
  for (const int grey : {10, 90, 0xAA}) raw += std::string(3 * 4 * 2, static_cast<char>(grey));
  write_bytes(folder_ / "raw", raw);
  run_ffmpeg(made + "-pix_fmt gray '" + path("a.gif") + "'");
  run_ffmpeg(made + "-f apng '" + path("b.png") + "'");
  write_bytes(folder_ / "c.png", plain_png(4, 2, {50}));
  run_ffmpeg(made + "-pix_fmt gray -frames:v 1 '" + path("d.gif") + "'");
  write_bytes(folder_ / "e.webp", bytes_of(golden_file("x").parent_path().parent_path() / "photos/moving.webp"));
  const std::string all = path("*.[gpw]*");
  EXPECT_THAT(names(frames(all)), ElementsAre("a.gif", "b.png", "c.png", "d.gif", "e.webp"));
  const Pictures pictures = frames(all, {.every = 2});
  EXPECT_THAT(names(pictures),
              ElementsAre("a.gif@0.000s", "a.gif@0.400s", "b.png@0.000s", "b.png@0.400s", "c.png", "d.gif", "e.webp"));
  EXPECT_NEAR(pictures.read(1).row(1)[3], 0xAA, 2);
  EXPECT_NEAR(pictures.read(3).row(1)[3], 0xAA, 2);
  EXPECT_THAT(pictures.notes(), ElementsAre(AllOf(HasSubstr("e.webp"), HasSubstr("its first one is taken"))));
}

TEST_F(Videos, WhatBecomesOfTheProgramsIsTold) {
  const std::string file = video("clip.mkv", 5);
  const struct {
    const char *program, *script, *told;
  } kPrograms[] = {
      {"ffmpeg", "echo \"[fatal] Unrecognized option 'vsync'.\" >&2; exit 8",
       "exit code 8 (Unrecognized option 'vsync'"},
      {"ffmpeg", "kill -9 $$", "ffmpeg ended with signal 9"},
      {"ffprobe", "echo \"[fatal] Unrecognized option 'of'.\" >&2; exit 1", "(Unrecognized option 'of'"},
      {"ffprobe", "kill -9 $$", "ffprobe ended with signal 9"},
      {"ffprobe", "case \"$*\" in *show_packets*) exec $real \"$@\";; esac; echo '0|0|40|9|K_'; kill -9 $$",
       "1 frame came, then ffprobe ended with signal 9"}};
  for (const auto& [program, script, told] : kPrograms) {
    const MadeUpProgram made_up(folder_ / "programs", program, script);
    const std::string reason = error_of([&] {
      const Pictures pictures = frames(file);
      pictures.require_all();
      pictures.read(0);
    });
    EXPECT_THAT(reason, HasSubstr(told)) << program << " " << script;
  }
}

/// The sanitizers see what else it would do.
TEST_F(Videos, DamageDoesNotEndTheProgram) {
  std::string bytes = read_file(video("clip.mkv", 40, mpeg4("-g 10 -bf 0")));
  std::srand(3);
  for (std::size_t i = bytes.size() / 4; i < bytes.size() / 2; i += 7) bytes[i] = static_cast<char>(std::rand());
  write_bytes(folder_ / "damaged.mkv", bytes);
  try {
    const Pictures pictures = frames(path("damaged.mkv"));
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      try {
        pictures.read(i);
      } catch (const Error&) {  // told with the frame
      }
    }
  } catch (const Error&) {  // nothing of it can be read
  }
}

TEST_F(Videos, APipeIsReadAsItComes) {
  const std::string bytes = read_file(video("clip.mkv", 20));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writing([&] { std::ofstream(path("pipe"), std::ios::binary) << bytes; });
  const Pictures pictures = frames(path("pipe"));
  std::size_t count = 0;
  for (; pictures.has(count); ++count) {
    EXPECT_EQ(pictures.read(count).width, 64);
    EXPECT_THAT(pictures.source(count), AllOf(HasSubstr("pipe@"), EndsWith("s")));
  }
  writing.join();
  EXPECT_EQ(count + pictures.live()->dropped(), 20U);
  ASSERT_GT(count, 0U);
  EXPECT_EQ(pictures.live()->failure(), "");
  EXPECT_NEAR(pictures.time_s(count - 1).value(), 19 * 0.04, 1e-6) << "the last one is never dropped";
  EXPECT_EQ(difference(pictures.read(count - 1), numbered_frame(19)), 0);
  EXPECT_THAT(pictures.source(count - 1), EndsWith("pipe@0.760s"));
  EXPECT_THROW(Pictures({path("pipe"), path("clip.mkv")}, FrameChoice()), UsageError);
}

TEST_F(Videos, WithoutTheProgramItIsSaidWhatToInstall) {
  const std::string file = video("clip.mkv", 2);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", folder_.path().c_str(), 1);
  const std::string reason = refusal(file);
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_THAT(reason, AllOf(HasSubstr("ffmpeg"), HasSubstr("apt install ffmpeg")));
}

TEST_F(Videos, ADeviceThatIsNoCameraIsNamed) {
  EXPECT_THAT(refusal("/dev/null"), AllOf(HasSubstr("/dev/null"), HasSubstr("no camera")));
}

TEST_F(Videos, NothingHalfWrittenStays) {
  VideoWriter writer(path("left.mp4"), 64, 48);
  writer.add(numbered_frame(0), 0);
  EXPECT_FALSE(fs::exists(path("left.mp4"))) << "it has another name until it is whole";
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string reason;
  try {
    VideoWriter large(path("large.mkv"), 64, 48);
    for (int i = 0; i < 300; ++i) large.add(numbered_frame(i), i / 25.0);
    large.finish();
  } catch (const Error& error) {
    reason = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(reason, AllOf(HasSubstr("can't write"), HasSubstr("large.mkv")));
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_THAT(entry.path().filename().string(), HasSubstr("left.mp4.tmp-")) << "of the writer that is still at work";
  }
}

TEST_F(Videos, OddSizesAreWrittenToo) {
  VideoWriter writer(path("odd.mp4"), 33, 21);
  for (int i = 0; i < 3; ++i) writer.add(numbered_frame(i, 33, 21), i / 25.0);
  writer.finish();
  const Picture read = frames(path("odd.mp4")).read(0);
  EXPECT_EQ(read.width, 34) << "H.264 and MPEG-4 halve the colours";
  EXPECT_EQ(read.height, 22);
  // The last column and row are there twice, but for what the codec loses.
  for (std::int64_t y = 0; y < 22; ++y) EXPECT_NEAR(read.row(y)[3 * 33 + 2], read.row(y)[3 * 32 + 2], 12) << y;
  for (std::int64_t x = 0; x < 34; ++x) EXPECT_NEAR(read.row(21)[3 * x + 1], read.row(20)[3 * x + 1], 12) << x;
  EXPECT_NEAR(read.row(5)[3 * 32 + 2], 64, 12);
}

TEST_F(Videos, AnUnknownEndingIsNamed) {
  try {
    const VideoWriter writer(path("clip.nothing"), 64, 48);
    FAIL() << "no container is called so";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("clip.nothing"), HasSubstr(".mp4")));
  }
}

TEST_F(Videos, FramesAreWrittenAtTheirOwnTimes) {
  {
    VideoWriter writer(path("times.mp4"), 64, 48);
    int number = 0;
    for (const double time_s : {0.0, 0.04, 0.5, 0.501, 2.0}) writer.add(numbered_frame(20 * number++), time_s);
    writer.finish();
  }
  const Pictures read = frames(path("times.mp4"));
  EXPECT_THAT(names(read), ElementsAre("times.mp4@0.000s", "times.mp4@0.040s", "times.mp4@0.500s", "times.mp4@0.501s",
                                       "times.mp4@2.000s"));
  for (int i = 0; i < 5; ++i) EXPECT_LT(difference(read.read(static_cast<std::size_t>(i)), numbered_frame(20 * i)), 90);
}

TEST_F(Videos, FewOfManyFramesAreThoseOfAll) {
  const std::string file = video("clip.mp4", 3600, mpeg4("-g 40 -bf 2"));
  const Pictures all = frames(file), some = frames(file, parse_every("3"));
  ASSERT_EQ(some.size(), 1200U);
  for (const std::size_t i : {0U, 1U, 999U, 1000U, 1001U, 1199U}) {
    EXPECT_EQ(some.source(i), all.source(3 * i));
    EXPECT_EQ(difference(some.read(i), all.read(3 * i)), 0) << i;
  }
  const Pictures few = frames(file, parse_every("1s"));
  ASSERT_EQ(few.size(), 144U);
  for (const std::size_t i : {0U, 1U, 60U, 143U}) EXPECT_EQ(difference(few.read(i), all.read(25 * i)), 0) << i;
}

TEST_F(Videos, FramesWhoseSizeChangesKeepTheirOwn) {
  write_video(path("a.ts"), 5, kMpeg4);
  ASSERT_EQ(std::system(
                ("ffmpeg -nostdin -v error -i '" + path("a.ts") + "' -s 96x64 -c:v mpeg4 -q:v 3 '" + path("b.ts") + "'")
                    .c_str()),
            0);
  write_bytes(folder_ / "both.ts", read_file(path("a.ts")) + read_file(path("b.ts")));
  const Pictures pictures = frames(path("both.ts"));
  ASSERT_EQ(pictures.size(), 10U);
  EXPECT_EQ(pictures.read(0).width, 64);
  EXPECT_EQ(pictures.read(9).width, 96);
  EXPECT_EQ(pictures.read(9).height, 64);
}

TEST_F(Videos, ANameIsAFileAndNoAddressOrOption) {
  const std::string bytes = read_file(video("clip.mkv", 2));
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  for (const char* const name : {"-i", "pipe:0", "concat:a|b"}) {
    write_bytes(folder_ / name, bytes);
    EXPECT_EQ(Pictures({name}, FrameChoice()).size(), 2U) << name;
  }
  fs::current_path(before);
}

TEST(VideoFiles, AreToldFromPicturesInTheSameContainer) {
  const std::string size("\0\0\0\x18", 4);
  EXPECT_TRUE(begins_as_video(size + "ftypisom........"));
  EXPECT_FALSE(begins_as_video(size + "ftypheic........"));
  EXPECT_FALSE(begins_as_video(size + "ftypavif........"));
  EXPECT_TRUE(begins_as_video("RIFF....AVI LIST"));
  EXPECT_FALSE(begins_as_video("RIFF....WEBPVP8 "));
  EXPECT_FALSE(begins_as_video("GIF89a.........."));
  EXPECT_FALSE(begins_as_video("G"));
  EXPECT_FALSE(begins_as_video(""));
  EXPECT_TRUE(has_video_extension("a/B.MP4"));
  EXPECT_FALSE(has_video_extension("a/b.png"));
}

/// What a test and its made-up camera share. Frames come when the test says so.
struct Shutter {
  std::mutex mutex;
  std::condition_variable changed;
  int allowed = 0;      // frames that may come
  int taken = 0;        // frames that LiveFrames has asked beyond
  int last = 1000;      // after which the source ends
  std::string failure;  // with which it ends; "" = none
  bool stopped = false;

  void release(int count) {
    std::unique_lock lock(mutex);
    allowed += count;
    changed.notify_all();
    // Whoever asks for the next frame has put the last one in its place.
    changed.wait(lock, [&] { return taken >= allowed; });
  }
};

class MadeUpCamera : public VideoReader {
 public:
  explicit MadeUpCamera(Shutter& shutter) : shutter_(shutter) {}

  std::unique_ptr<VideoFrame> next() override {
    std::unique_lock lock(shutter_.mutex);
    shutter_.taken = number_;
    shutter_.changed.notify_all();
    shutter_.changed.wait(lock,
                          [&] { return shutter_.stopped || shutter_.allowed > number_ || number_ == shutter_.last; });
    if (shutter_.stopped) throw Interrupted("stopped");
    if (number_ == shutter_.last && !shutter_.failure.empty()) throw Error(shutter_.failure);
    if (number_ == shutter_.last) return nullptr;
    const int number = number_++;
    return std::make_unique<VideoFrame>(
        VideoFrame{{number, number / 10.0, true}, number < 100 ? numbered_frame(number) : Picture::unset(3, 1, 1)});
  }
  void stop() override {
    const std::scoped_lock lock(shutter_.mutex);
    shutter_.stopped = true;
    shutter_.changed.notify_all();
  }

 private:
  Shutter& shutter_;
  int number_ = 0;
};

/// Lets frames come as soon as somebody waits for the first one.
class LiveFramesTest : public ::testing::Test {
 protected:
  LiveFrames frames(const FrameChoice& choice = {}) {
    return {"camera", std::make_unique<MadeUpCamera>(shutter_), choice};
  }

  Shutter shutter_;
};

TEST_F(LiveFramesTest, TheNewestIsLookedAtAndOthersAreDropped) {
  LiveFrames live = frames();
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  EXPECT_EQ(live.name(0), "camera@0.000s");
  EXPECT_EQ(live.dropped(), 0U);
  shutter_.release(4);  // while the network computes
  ASSERT_TRUE(live.wait_for(1));
  EXPECT_EQ(live.name(1), "camera@0.400s");
  EXPECT_EQ(live.dropped(), 3U);
  EXPECT_EQ(live.read(1).row(10)[3 * 10], 104) << "the pixels are those of frame 4";
  EXPECT_EQ(live.read(0).row(10)[3 * 10], 100);
}

TEST_F(LiveFramesTest, FramesThatWereNotWantedAreNotDropped) {
  LiveFrames live = frames({.every = 3, .most = 2});
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  shutter_.release(3);
  ASSERT_TRUE(live.wait_for(1));
  EXPECT_DOUBLE_EQ(live.time_s(1), 0.3);
  EXPECT_EQ(live.dropped(), 0U);
  EXPECT_FALSE(live.wait_for(2)) << "two were wanted";
}

TEST_F(LiveFramesTest, TheEndIsNoFailureAndAFailureNamesTheCamera) {
  {
    LiveFrames live = frames();
    shutter_.allowed = shutter_.last = 1;
    EXPECT_TRUE(live.wait_for(0));
    EXPECT_FALSE(live.wait_for(1));
    EXPECT_EQ(live.failure(), "");
  }
  shutter_.stopped = false;
  shutter_.failure = "it is gone: was it unplugged?";
  LiveFrames live = frames();
  EXPECT_TRUE(live.wait_for(0));
  EXPECT_FALSE(live.wait_for(1));
  EXPECT_THAT(live.failure(), AllOf(HasSubstr("camera: "), HasSubstr("unplugged")));
}

TEST_F(LiveFramesTest, AStopRequestEndsTheWait) {
  LiveFrames live = frames();
  request_stop();
  EXPECT_FALSE(live.wait_for(0));
  clear_stop_request();
}

TEST_F(LiveFramesTest, FramesOfLongAgoAreGone) {
  LiveFrames live = frames();
  shutter_.allowed = 1;
  ASSERT_TRUE(live.wait_for(0));
  for (std::size_t i = 1; i <= 64; ++i) {
    shutter_.release(1);
    ASSERT_TRUE(live.wait_for(i));
  }
  EXPECT_THROW(live.read(0), Error);
  EXPECT_EQ(live.read(1).width, 64);
  EXPECT_EQ(live.name(0), "camera@0.000s") << "names are kept longer";
}

TEST_F(LiveFramesTest, WhatComesAfterTheLastOneThatWasWantedIsNeitherDroppedNorAFailure) {
  LiveFrames live = frames({.most = 1});
  shutter_.allowed = 1;
  shutter_.failure = "it is gone";
  ASSERT_TRUE(live.wait_for(0));
  {
    std::unique_lock lock(shutter_.mutex);
    shutter_.allowed = shutter_.last = 4;
    shutter_.changed.notify_all();
    // The wait ends early if all four are taken, which they shouldn't be.
    shutter_.changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return shutter_.taken == 4; });
  }
  EXPECT_EQ(live.dropped(), 0U);
  EXPECT_FALSE(live.wait_for(1));
  EXPECT_EQ(live.failure(), "");
}

TEST_F(LiveFramesTest, AllNamesAreKeptForThoseWhoTellOfThemAtTheEnd) {
  LiveFrames live = frames({.keeps_all_names = true});
  shutter_.allowed = shutter_.last = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < 65'540; ++i) ASSERT_TRUE(live.wait_for(i));
  EXPECT_GE(live.time_s(65'539), 6553.9);
  EXPECT_LT(live.time_s(0), live.time_s(1));
}

TEST(FrameChoice, TakesNumbersAndTimes) {
  EXPECT_EQ(parse_every("10").every, 10U);
  EXPECT_DOUBLE_EQ(parse_every("1s").every_s, 1);
  EXPECT_DOUBLE_EQ(parse_every("200ms").every_s, 0.2);
  EXPECT_TRUE(parse_every("").is_default());
  EXPECT_FALSE(parse_every("1").is_default()) << "all frames, which a folder's videos give only to who asks";
  for (const char* wrong : {"0", "-1", "1.5", "s", "1m", "ten", "0s", "inf", "nan", "1 s"}) {
    EXPECT_THROW(parse_every(wrong), UsageError) << wrong;
  }
}

TEST(FrameChoice, OfEachSpanTheFirstIsTaken) {
  std::vector<FramePlace> frames;
  for (const double time_s : {5.6, 6.0, 6.5996, 6.9, 9.7, 9.8, 10.6}) frames.push_back({0, time_s, false});
  // 6.5996 is a second after 5.6 in a stream whose ticks don't meet it.
  EXPECT_THAT(chosen_frames(frames, {.every_s = 1}, 100), testing::ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(chosen_frames(frames, {.every = 3}, 2), testing::ElementsAre(0, 3));
}

}  // namespace
}  // namespace evener::data
