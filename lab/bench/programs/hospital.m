hospital ; Patients of a ward: notes and results, changed and taken away again, an index of words, a log of changes.
ward
 new at,bytes,changes,draw,noise,note,number,patient,patients,step
 set draw=$zcmdline*1000+7,patients=3500,changes=24000,noise=""
 for at=1:1:20000 set noise=noise_$char(33+$$next(90))_$char(33+$$next(90))
 for step=1:1:patients+changes do
 . set patient=$select(step>patients:$$next(patients)*$$next(1000)\1000+1,1:step)
 . set number=$$next(8),bytes=$$next(40)*$$next(40)+60
 . tstart ():(serial:transactionid="BATCH")
 . set note=$get(^note($zcmdline,patient,number))
 . for at=1:40:$length(note)-8 kill ^word($extract(note,at,at+7),$zcmdline,patient,number)
 . if note'="",$$next(6)=0 kill ^note($zcmdline,patient,number)
 . else  do
 . . set at=$$next(36000)+1,note=$extract(noise,at,at+bytes),^note($zcmdline,patient,number)=note
 . . for at=1:40:bytes-8 set ^word($extract(note,at,at+7),$zcmdline,patient,number)=""
 . set ^result($zcmdline,patient,$$next(30))=$extract(noise,step#9000+1,step#9000+$$next(120)+1)
 . set ^audit($zcmdline,step)=$horolog_","_patient_","_number
 . kill ^audit($zcmdline,step-8000)
 . tcommit
 . if step#100=0 hang 0.15
 quit
next(most) ; A number below the one given.
 set draw=draw*16807#2147483647
 quit draw\8#most
