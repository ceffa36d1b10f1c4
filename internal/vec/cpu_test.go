package vec
import ("testing";"fmt";"os";"math/rand/v2";"golang.org/x/sys/unix";"runtime/debug";"sort")
func cpuNow() float64 { var t unix.Timespec; unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID,&t); return float64(t.Sec)+float64(t.Nsec)*1e-9}
func TestCPU(t *testing.T){
 if os.Getenv("WCPU")=="" {t.Skip()}
 debug.SetGCPercent(-1)
 words:=30000; fmt.Sscan(os.Getenv("V"),&words)
 for _,s:=range wordSteps{ if s.name=="Pair" {continue}
  for _,k:=range []int{96,100,128}{
   inputs,targets:=benchWindows(1<<14,words,5,s.each)
   w := &Words{K: k, In: make([]float32, words*k), Out: make([]float32, words*k)}
   for i := range w.In { w.In[i] = (rand.Float32() - 0.5) / float32(k) }
   var ts []float64
   for range 15 { a:=cpuNow(); for n:=range inputs { s.step(w,inputs[n],targets[n],.025)}; ts=append(ts,(cpuNow()-a)/float64(len(inputs)))}
   sort.Float64s(ts)
   fmt.Printf("%s k=%d: min %.0f median %.0f ns/word: %.3f Mwords/s\n",s.name,k,ts[0]*1e9,ts[2]*1e9,1e-6/ts[0])
  }}
}
