import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Work for a Java virtual machine, with an eye to the memory that it keeps outside the Java heap. */
public final class Work {
    private static long compressAndCheck(int seed) throws Exception {
        byte[] input = new byte[50_000];
        for (int i = 0; i < input.length; i++) {
            input[i] = (byte) (i * seed / 7);
        }
        CRC32 sum = new CRC32();
        for (int round = 0; round < 20; round++) {
            Deflater deflater = new Deflater(1 + round % 9);
            deflater.setInput(input);
            deflater.finish();
            ByteArrayOutputStream packed = new ByteArrayOutputStream();
            byte[] buffer = new byte[4096];
            while (!deflater.finished()) {
                packed.write(buffer, 0, deflater.deflate(buffer));
            }
            deflater.end();
            Inflater inflater = new Inflater();
            inflater.setInput(packed.toByteArray());
            byte[] output = new byte[input.length];
            if (inflater.inflate(output) != input.length) {
                throw new IllegalStateException("inflate");
            }
            inflater.end();
            sum.update(output);
        }
        return sum.getValue();
    }

    private static long fillDirectBuffers(int seed) {
        List<ByteBuffer> buffers = new ArrayList<>();
        for (int i = 1; i < 200; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(i * 501);
            while (buffer.hasRemaining()) {
                buffer.put((byte) (seed + i));
            }
            buffers.add(buffer);
        }
        long sum = 0;
        for (ByteBuffer buffer : buffers) {
            buffer.flip();
            while (buffer.hasRemaining()) {
                sum += buffer.get();
            }
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 1; i <= 24; i++) {
            int seed = i;
            results.add(pool.submit(() -> compressAndCheck(seed) + fillDirectBuffers(seed)));
        }
        for (Future<Long> result : results) {
            System.out.println(result.get());
        }
        pool.shutdown();
        for (int i = 0; i < 500; i++) {
            Thread thread = new Thread(() -> ByteBuffer.allocateDirect(1000).put((byte) 1));
            thread.start();
            thread.join();
        }
        String text = IntStream.range(0, 20_000).mapToObj(i -> "word" + i * 7919L % 1009).collect(Collectors.joining(" "));
        System.out.println(Pattern.compile("word(\\d)\\1").matcher(text).results().count());
        System.out.println(BigInteger.TWO.pow(20_000).mod(BigInteger.TEN.pow(50)));
        System.out.println("done");
    }
}
